import './runtime.ts'
import { spawnSync } from 'node:child_process'
import { checks, passes } from './checks.ts'

const failed = checks.filter((check) => !passes(check)).length
const units = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit'], {
  stdio: 'inherit',
})
process.exitCode = failed > 0 || units.status !== 0 ? 1 : 0
