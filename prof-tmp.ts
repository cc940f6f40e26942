import { scan } from '#lib/domains/pii/scanner.ts'
const t=(process.argv[2]??'').repeat(1e6/(process.argv[2]??'').length*Number(process.argv[3]??2)); scan(t)
