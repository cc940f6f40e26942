import { readFileSync } from 'node:fs'
import { scan } from '#lib/domains/pii/scanner.ts'
const rows=JSON.parse(readFileSync('/tmp/rules/tokens.json','utf8')) as [string,boolean,string][]
const r={n:[0,0],p:[0,0]}
for(const [id,named,v] of rows){ const t=`config: ${v.trim()}\nnext`; const f=scan(t).filter(x=>['api_key','private_key'].includes(x.kind)); const c=named?r.n:r.p; c[1]++; if(f.length) c[0]++; else console.log(named?'N':'P',id,JSON.stringify(v.slice(0,110))) }
console.log(r)
