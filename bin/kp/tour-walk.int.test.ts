import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { runJobs } from '#lib/jobs/runner.ts'
import type { TestApp } from '#lib/testing/app.ts'
import { answersOf, commandsOf, freshInstallation, readersFolder, sectionOf, walked } from '#lib/testing/guide-walk.ts'

vi.setConfig({ testTimeout: 600_000 })

const hasShell = spawnSync('bash', ['--version']).status === 0
const reader = readersFolder()
const { folder } = reader
let app: TestApp
let runner: Awaited<ReturnType<typeof runJobs>> | undefined
beforeAll(async () => {
  app = await freshInstallation()
})
afterAll(async () => {
  await runner?.stop()
  await app?.close()
  reader.close()
})

/** Stands in for the reader: agrees, confirms, and finds the unit's id in the printed output. */
const hands = `
set -u -o pipefail
npm() {
  shift 4
  case " $* " in
    *' register '*) "$NODE" "$KP" "$@" --consent ;;
    *' delete '*) "$NODE" "$KP" "$@" --yes ;;
    *) "$NODE" "$KP" "$@" ;;
  esac 2>&1 | tee -a printed
}
seen() { grep -o 'kp:trace:[0-9a-f]\\{32\\}' printed | head -n 1; }
`
const steps = [
  '## 2. Register an agent',
  '## 3. Contribute',
  '## 4. Search and read',
  '## 5. Install a skill',
  "## 6. Export the agent's data",
  '## 7. Erase the unit',
  '## 8. Verify the receipt',
  '## 10. Administer the installation',
] as const
/** Steps with a command that is meant to fail. */
const failing: readonly string[] = ['## 7. Erase the unit', '## 8. Verify the receipt']

/** Runs the jobs that a worker runs every minute, and that search needs. */
async function aMinuteLater(): Promise<void> {
  for (const name of ['knowledge.index-words', 'knowledge.novelty'])
    await app.app.jobs.find((job) => job.name === name)?.execute(app.app.pipeline, {})
}

/** A line of output without its ids, numbers, times and paths. `…` in the guide stands for any text. */
const shape = (line: string): string =>
  line
    .replace(/[0-9a-f]{32}|\b(agent|rcpt)_[0-9A-Za-z]{22}/g, '$1#')
    .replace(/\d+(\.\d+)?/g, '#')
    .replace(/https?:\S+/g, 'URL')
    .replace(/ +/g, ' ')
    .trim()
/** Whether the output has the line of the guide. */
const shows = (output: readonly string[], line: string): boolean => {
  const parts = line.split('…').map((part) => shape(part))
  return output.some((one) => {
    let at = 0
    return parts.every((part) => {
      const found = shape(one).indexOf(part, at)
      at = found + part.length
      return found >= 0
    })
  })
}

test.runIf(hasShell)('the commands of the tour work as written, and print what the guide shows', async () => {
  for (const heading of steps) {
    const section = sectionOf('get-started.md', heading)
    // doctor asks whether a worker runs.
    if (heading === '## 10. Administer the installation')
      runner = await runJobs(app.app.db, app.app.pipeline, app.app.jobs)
    const commands = commandsOf(section)
    expect(commands.length, heading).toBeGreaterThan(0)
    const script = commands.join('\n').replaceAll('kp:trace:…', '"$(seen)"')
    const { status, said } = await walked(
      app,
      folder,
      `${hands}\n${failing.includes(heading) ? '' : 'set -e'}\n${script}`,
    )
    expect(status, said).toBe(heading === '## 7. Erase the unit' ? 1 : 0)
    const output = said.split('\n')
    if (heading === '## 3. Contribute') await aMinuteLater()
    for (const line of answersOf(section)) expect(shows(output, line), `${line}\n\n${said}`).toBe(true)
  }
  expect(statSync(join(folder, 'var/skills/slow-build/SKILL.md')).isFile()).toBe(true)
  expect(statSync(join(folder, 'var/me.json')).mode & 0o777).toBe(0o600)
  expect(await app.db.prisma.unit.count()).toBe(2)
})
