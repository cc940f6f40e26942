import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@playwright/test'

test('the commands on the front page lead to a verified receipt', async ({ page }) => {
  const home = mkdtempSync(join(tmpdir(), 'kp-first-steps-'))
  /** Runs the lines of a step as printed, with `more` words after the first one. Returns the output. */
  const run = (step: string, more: readonly string[] = []): string => {
    const lines = step.replaceAll('\\\n', ' ').split('\n')
    return lines
      .map((line, index) => {
        const [npm, script, silent, kp, dashes, ...words] = line.trim().split(/\s+/)
        expect([npm, script, silent, kp, dashes]).toEqual(['npm', 'run', '--silent', 'kp', '--'])
        const made = spawnSync(process.execPath, ['bin/kp.ts', ...words, ...(index === 0 ? more : [])], {
          encoding: 'utf8',
          env: { ...process.env, XDG_CONFIG_HOME: home, NO_COLOR: '1' },
        })
        expect(made.status, `${line}\n${made.stdout}${made.stderr}`).toBe(0)
        return made.stdout
      })
      .join('\n')
  }
  try {
    await page.goto('/')
    const steps = page.locator('ol pre')
    await expect(steps).toHaveCount(3)
    const [register = '', contribute = '', erase = ''] = await steps.allTextContents()
    run(register, ['--consent'])
    const id = /kp:trace:[\w-]+/.exec(run(contribute))?.[0]
    if (id === undefined) throw new Error('The answer names no id.')
    const file = join(home, 'receipt.json')
    const said = run(erase.replace('kp:trace:…', id).replaceAll('receipt.json', file), ['--yes'])
    expect(said).toContain(`${id} was erased.`)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
})
