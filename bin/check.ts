import './runtime.ts'
import { spawnSync } from 'node:child_process'
import { checks, generateClient, runCheck, vulnerabilityAudit } from './checks.ts'

let failed = 0
for (const check of [generateClient, ...checks, vulnerabilityAudit]) if (!(await runCheck(check))) failed += 1
const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit', '--project', 'components']
const units = spawnSync(process.execPath, vitest, { stdio: 'inherit' })
process.exitCode = failed > 0 || units.status !== 0 ? 1 : 0
