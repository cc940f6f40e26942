import * as B from './bench/sanitizer.ts'
import { readFileSync } from 'node:fs'
const rows=await B.run(); const d=rows.filter(r=>/1024 KiB/.test(r.name)).sort((a,b)=>b.value-a.value).slice(0,14); for(const r of d) console.log(r.value.toFixed(0),r.name); for(const r of rows.filter(r=>!r.isDetail)) console.log(r.name,r.value.toFixed(2),r.met); for(const r of rows.filter(r=>r.met===false)) console.log('NOTMET',r.name,r.value)
