import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium } from '@playwright/test'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const fixed = ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome', '/Applications/Chromium.app/Contents/MacOS/Chromium']

const isProgram = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** A Chromium that is there: Playwright's own, else an installed one. */
export function installedBrowser(path = process.env.PATH ?? ''): string | undefined {
  const own = chromium.executablePath()
  if (existsSync(own)) return own
  const folders = path.split(delimiter)
  return [...names.flatMap((name) => folders.map((folder) => join(folder, name))), ...fixed].find(isProgram)
}

/** A Chromium, installed now when there is none: by Playwright, else by Debian's packages. Undefined when neither can. */
export function findBrowser(): string | undefined {
  const there = installedBrowser()
  if (there !== undefined) return there
  console.log('Installing a browser for the tests (once) …')
  spawnSync(process.execPath, ['node_modules/@playwright/test/cli.js', 'install', 'chromium'], { stdio: 'ignore', timeout: 300_000 })
  if (installedBrowser() === undefined && process.getuid?.() === 0) {
    spawnSync('apt-get', ['update', '-qq'], { stdio: 'ignore', timeout: 120_000 })
    spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'chromium'], { stdio: 'ignore', timeout: 300_000 })
  }
  return installedBrowser()
}
