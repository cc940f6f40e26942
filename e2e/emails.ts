import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import { readCredentials } from './credentials.ts'

/** An erasure or the retention of emails may delete a file between the listing of its folder and its reading. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** Waits for the newest link of this form in an email to the address. */
export async function linkInEmailTo(email: string, form: RegExp, known: readonly string[] = []): Promise<string> {
  const { letters: emails } = readCredentials()
  let found: string | undefined
  await expect
    .poll(() => {
      found = (existsSync(emails) ? readdirSync(emails) : [])
        .sort()
        .map((name) => textOf(join(emails, name)))
        .filter((text) => text.includes(`To: ${email}`))
        .flatMap(
          (text) =>
            text
              .replaceAll(/=\r?\n/g, '')
              .replaceAll('=3D', '=')
              .match(form) ?? [],
        )
        .filter((one) => !known.includes(one))
        .at(-1)
      return found
    })
    .toBeTruthy()
  return found ?? ''
}
