import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { scan } from '#lib/domains/pii/scanner.ts'
const files:string[]=[]
const walk=(d:string,depth=0)=>{ for(const e of readdirSync(d,{withFileTypes:true})){ const p=join(d,e.name); if(e.isDirectory()) { if(depth<7) walk(p,depth+1) } else if(/\.(ts|tsx|js|jsx|mjs|cjs|json|md|py|vue|svelte|java|cpp|h|sql|css|yml)$/.test(e.name)&&statSync(p).size<300_000) files.push(p) } }
walk(process.argv[2]!); 
const step=Number(process.argv[3]??'1'); const show=new Set((process.argv[4]??'').split(','))
let bytes=0,ms=0; const count:Record<string,number>={}; let shown=0
for(let i=0;i<files.length;i+=step){ const t=readFileSync(files[i]!,'utf8'); bytes+=t.length; const a=performance.now(); const f=scan(t); ms+=performance.now()-a
 for(const x of f){ const k=x.kind+(x.confidence?' low':''); count[k]=(count[k]??0)+1; if(show.has(x.kind)&&!x.confidence&&shown++<70) console.log(x.kind,x.score,files[i]!.split('node_modules/').pop()!.slice(0,50),JSON.stringify(t.slice(Math.max(0,x.start-30),x.end+12)).slice(0,170)) } }
console.log(files.length, bytes/1e6,'MB', (bytes/1e6/(ms/1000)).toFixed(1),'MB/s',count)
