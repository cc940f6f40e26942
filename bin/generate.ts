import './runtime.ts'
import { generateChanged } from './build.ts'

await generateChanged(process.env, AbortSignal.timeout(120_000))
