import { createCipheriv, createHash, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { SealingRefusal } from './sealing-refusal.ts'
import { chunkLength, newSnapshotKey, readSealedSnapshot, type SnapshotHead, sealSnapshot } from './snapshot.ts'

const head: SnapshotHead = {
  id: 'snap_0123456789abcdefghijkl',
  agent: 'agt_0123456789abcdefghijkl',
  kind: 'on_demand',
  key_id: 'key_0123456789abcdefghijkl',
  created_at: '2026-01-02T03:04:05.000Z',
  expires_at: '2026-01-02T07:04:05.000Z',
}
async function* pieces(bytes: Uint8Array, length = 10_007) {
  for (let from = 0; from < bytes.length; from += length) yield bytes.subarray(from, from + length)
}
async function whole(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const piece of source) all.push(piece)
  return Buffer.concat(all)
}
const key = newSnapshotKey()
const sealed = (content: Uint8Array, length?: number) => whole(sealSnapshot(key, head, pieces(content, length)))
const opened = async (bytes: Uint8Array, length?: number, by = key) =>
  whole((await readSealedSnapshot(pieces(bytes, length))).open(by))
const damaged = expect.objectContaining({ name: 'SealingRefusal', code: 'damaged' })
const tag = 16
const startOf = (bytes: Buffer): number => 12 + bytes.readUInt32BE(8)

describe('a sealed snapshot', () => {
  it.each([0, 1, chunkLength - 1, chunkLength, chunkLength + 1, 3 * chunkLength + 5])(
    'returns %i bytes for every chunk size',
    async (length) => {
      const content = randomBytes(length)
      const bytes = await sealed(content, 1 + (length >> 2))
      expect((await readSealedSnapshot(pieces(bytes, 7))).head).toEqual(head)
      for (const cut of [bytes.length, 65_551, 131_072]) expect((await opened(bytes, cut)).equals(content)).toBe(true)
    },
  )

  it('matches the documented format, decrypted by another implementation', async () => {
    const content = randomBytes(chunkLength + 100)
    const bytes = await sealed(content)
    const start = startOf(bytes)
    expect(bytes.subarray(0, 8).toString()).toBe('KPSNAP1\n')
    const header = JSON.parse(bytes.subarray(12, start).toString())
    expect(header).toMatchObject({ ...head, v: 1, suite: 'AES-256-GCM-STREAM', chunk: 65_536 })
    const parts = [content.subarray(0, chunkLength), content.subarray(chunkLength)].map((part, number) => {
      const number32 = Buffer.alloc(4)
      number32.writeUInt32BE(number)
      const nonce = Buffer.concat([Buffer.from(header.nonce, 'base64url'), number32, Buffer.from([number])])
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      cipher.setAAD(createHash('sha256').update(bytes.subarray(0, start)).digest())
      return Buffer.concat([cipher.update(part), cipher.final(), cipher.getAuthTag()])
    })
    expect(bytes.subarray(start).equals(Buffer.concat(parts))).toBe(true)
  })

  it('is rejected when any bit was flipped', { timeout: 240_000 }, async () => {
    const bytes = await sealed(randomBytes(40))
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Buffer.from(bytes)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      await expect(opened(flipped, bytes.length), `bit ${bit}`).rejects.toBeInstanceOf(SealingRefusal)
    }
  })

  it('is rejected when it is truncated, extended, reordered or opened with another key', async () => {
    const bytes = await sealed(randomBytes(3 * chunkLength))
    const start = startOf(bytes)
    const chunk = (number: number) => {
      const from = start + number * (chunkLength + tag)
      return bytes.subarray(from, from + chunkLength + tag)
    }
    const before = bytes.subarray(0, start)
    const others = [
      bytes.subarray(0, -1),
      bytes.subarray(0, start),
      bytes.subarray(0, start + chunkLength + tag),
      Buffer.concat([before, chunk(0), chunk(2)]),
      Buffer.concat([before, chunk(1), chunk(0), chunk(2)]),
      Buffer.concat([before, chunk(0), chunk(0), chunk(1), chunk(2)]),
      Buffer.concat([bytes, Buffer.from([0])]),
      Buffer.concat([bytes, chunk(2)]),
    ]
    for (const other of others) await expect(opened(other)).rejects.toEqual(damaged)
    await expect(opened(bytes, undefined, newSnapshotKey())).rejects.toEqual(damaged)
    await expect(readSealedSnapshot(pieces(randomBytes(4_000)))).rejects.toEqual(damaged)
    await expect(readSealedSnapshot(pieces(Buffer.from('KPSNAP1\n\xff\xff\xff\xff{}', 'latin1')))).rejects.toEqual(
      damaged,
    )
    await expect(readSealedSnapshot(pieces(Buffer.alloc(0)))).rejects.toEqual(damaged)
  })

  it('closes the source stream when its reader stops', async () => {
    let isClosed = false
    async function* endless() {
      try {
        yield await sealed(Buffer.from('x'))
        for (;;) yield Buffer.alloc(chunkLength)
      } finally {
        isClosed = true
      }
    }
    await expect(whole((await readSealedSnapshot(endless())).open(key))).rejects.toEqual(damaged)
    expect(isClosed).toBe(true)
  })
})
