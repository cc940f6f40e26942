import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { link, mkdir, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '#lib/kernel/error-code.ts'

const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16
const fileOf = (month: string): string => `${month}.key`
export const isKeyFile = (name: string): boolean => /^\d{4}-\d{2}\.key$/.test(name)

/**
 * One key for each month's file, next to it (`2026-11.key`, mode 0600). Deleting the key makes the items of the month unreadable without
 * writing to the file. AES-256-GCM; nonce, ciphertext and tag in one base64 text.
 */
export function monthKeys(folder: string) {
  const known = new Map<string, Buffer>()

  async function read(month: string): Promise<Buffer | undefined> {
    const key = await readFile(join(folder, fileOf(month))).catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') return undefined
      throw error
    })
    if (key && key.length !== keyBytes)
      throw new Error(`The key of ${month} in the ledger's folder is incomplete. Restore it from a backup.`)
    return key
  }
  /** Creates a key that is on disk before it seals anything. If several processes create one concurrently, the first one is used. */
  async function make(month: string): Promise<Buffer> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const draft = join(folder, `${randomBytes(8).toString('hex')}.draft`)
    const file = await open(draft, 'wx', 0o600)
    await file.write(randomBytes(keyBytes))
    await file.datasync()
    await file.close()
    await link(draft, join(folder, fileOf(month))).catch((error: unknown) => {
      if (errorCode(error) !== 'EEXIST') throw error
    })
    await rm(draft)
    const parent = await open(folder, 'r')
    await parent.sync()
    await parent.close()
    const key = await read(month)
    if (!key) throw new Error(`The key of ${month} in the ledger's folder does not exist. Restore it from a backup.`)
    return key
  }

  return {
    /** `about` must be the same when it is opened. */
    async sealed(month: string, about: string, text: string): Promise<string> {
      // Read each time: the folder may have been replaced by another without the cached key.
      const key = (await read(month)) ?? (await make(month))
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(about))
      return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64')
    },
    /** Undefined once the key was destroyed. Throws if the key is a different one or the sealed text was changed. */
    async opened(month: string, about: string, sealed: string): Promise<string | undefined> {
      const key = known.get(month) ?? (await read(month))
      if (!key) return undefined
      known.set(month, key)
      const bytes = Buffer.from(sealed, 'base64')
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes))
        .setAAD(Buffer.from(about))
        .setAuthTag(bytes.subarray(-tagBytes))
      return decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
    },
    async destroy(month: string): Promise<void> {
      known.delete(month)
      await rm(join(folder, fileOf(month)), { force: true })
    },
  }
}
