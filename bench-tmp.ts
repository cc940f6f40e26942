import { scan } from '#lib/domains/pii/scanner.ts'
import { redact } from '#lib/domains/pii/redaction.ts'
import { worstScans } from '#lib/testing/worst-scans.ts'
const T:Record<string,string>={
 prose:`The build failed because the lock file named another version than the manifest does. Compare both, then run the installation again (it takes about a minute). On 2026-11-22 at 10:15 version 1.2.3.4 of the package was published, with 12 changes.\n`,
 numbers:`In 2023 the company sold 1,204 units for $3,499.99 each (up 12.5% from 1,071 in 2022); order 20231104-7781 shipped 03/14/2023 at 14:05, invoice 4500128877, weight 12.75 kg, room 402, pages 112-118, ISBN 978-3-16-148410-0, 10.5281/zenodo.1234567, 52.5200, 13.4050, 1,234,567 rows, 99.95%, 300 ms.\n`,
 csv:`1042,2023-04-11,Smith,199.99,5,30.2672,-97.7431,AX-2231,12,0\n`,
 phones:`Call me at 030 1234567 or (602) 272-9781, fax 040 7654321. `,
}
for(const [k,u] of Object.entries(T)){ const t=u.repeat(Math.ceil(3e6/u.length)); for(let i=0;i<3;i++) scan(t); const a=process.cpuUsage(); scan(t); const c=process.cpuUsage(a); console.log(k,(Buffer.byteLength(t)/(c.user+c.system)).toFixed(1),'MB/s') }
const M=1048576; const rows:[number,string][]=[]
for(const w of worstScans){ const t=w.make(M); scan(w.make(M/8)); const a=process.cpuUsage(); scan(t,{strategy:process.argv[2]==='s'}); const c=process.cpuUsage(a); rows.push([(c.user+c.system)/1000,w.name]) }
for(const [n,u] of [['cue num','tel 0301234567 '],['national','call 030 12 34 56 78 '],['named','adobe_key=0123456789abcdef0123456789abcdeg '],['nouns','api_key: aaaaaaaaaaaaaaaaaaaa '],['secret','secret_'],['urls','a://b:'],['eyj','eyJhbGciOi.'],['us','(602)272-9781 '],['ip','8.8.4.4 '],['ipv6','2001:db8::1 '],['azdo','azdo'],['live_','live_'],['aa',':aa'],['a22','a'],['counter','w12:'],['percent','%20abandon'],['words','abandon ability able about above absent absorb abstract absurd abuse access accident '],['numw',Array.from({length:24},(_,i)=>`${i+1}. zoo `).join('')]] as const){ const t=u.repeat(Math.ceil(M/u.length)); const a=process.cpuUsage(); scan(t); const c=process.cpuUsage(a); rows.push([(c.user+c.system)/1000,n]) }
rows.sort((a,b)=>b[0]-a[0]); for(const [ms,n] of rows.slice(0,16)) console.log(ms.toFixed(0).padStart(6),'ms',n)
