import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { sanitize } from '#lib/domains/sanitizer/sanitizer.ts'
const files:string[]=[]
const walk=(d:string,depth=0)=>{ let l:any[]=[]; try{l=readdirSync(d,{withFileTypes:true})}catch{}; for(const e of l){ const p=join(d,e.name); if(e.isDirectory()) { if(depth<8) walk(p,depth+1) } else if(/\.(ts|mts|cts|js|py|java|cpp|cc|h|hpp)$/.test(e.name)&&statSync(p).size<200_000) files.push(p) } }
for(const d of process.argv.slice(3)) walk(d)
let n=0,lost=0,shown=0
for(let i=0;i<files.length;i+=Number(process.argv[2])){ const t=readFileSync(files[i]!,'utf8').replace(/^\uFEFF/,''); if(/<\/[a-z]|<!--|<(br|p|li|b|i|a|div|img|hr|code|pre|span|ul)[ />]/i.test(t)) continue; n++
 try{ const r=sanitize(t,'plain'); if(r.text!==t.normalize('NFC')){ lost++; const p=r.places[0]!; if(shown++<25) console.log(files[i]!.split('/').slice(-2).join('/'),JSON.stringify(t.slice(Math.max(0,p.place-25),p.place+60))) } }catch{} }
console.log(n,'lost',lost)
