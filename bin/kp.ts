import './runtime.ts'
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

// Half the time of a command would go into compiling it.
enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/kp'))
const { main } = await import('./kp/main.ts')
await main()
