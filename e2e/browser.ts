import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium } from '@playwright/test'

/** Names of Chromium by package. The headless shell has no user interface and needs half the processor time. */
const names = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
  'chrome',
  'msedge',
]
const places = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
  'C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe',
]

function installed(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const onPath = names.flatMap((name) => folders.map((folder) => join(folder, name)))
  return [chromium.executablePath(), ...onPath, ...places].find((file) => file !== '' && existsSync(file))
}

/** The browser for tests: Playwright's own, or one of this machine. Tries to install one if there is none. */
export function findBrowser(): string | undefined {
  const found = installed()
  if (found !== undefined) return found
  const tries: [string, string[]][] = [
    [process.execPath, ['node_modules/@playwright/test/cli.js', 'install', 'chromium']],
    ...(process.getuid?.() === 0
      ? ['chromium-headless-shell', 'chromium'].map((name): [string, string[]] => [
          'apt-get',
          ['install', '-y', '--no-install-recommends', name],
        ])
      : []),
  ]
  for (const [command, args] of tries) {
    spawnSync(command, args, { stdio: 'ignore', timeout: 300_000 })
    const made = installed()
    if (made !== undefined) return made
  }
  return undefined
}
