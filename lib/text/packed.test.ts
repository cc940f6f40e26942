import { createHash } from 'node:crypto'
import { deflateSync, gzipSync, inflateSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { beginUnpacking, unpacked } from './packed.ts'
import { editText, readerText, searchViews, viewsOf } from './views.ts'

const sentence = 'My fever began in April and the clinic kept me for nine days.'
const other = 'These are the words of another person who wrote about the engine.'
const cutFrom = (text: string, words: string) =>
  editText(text, (one) =>
    searchViews(one, (view) => {
      const start = view.indexOf(words)
      return start < 0 ? [] : [{ start, end: start + words.length }]
    }),
  )
const findIn = (text: string, words: string) => readerText(text).includes(words)

describe('compressed data in a text', () => {
  it.each([
    ['deflate', deflateSync],
    ['gzip', gzipSync],
    ['zstd', zstdCompressSync],
  ])('of several streams in %s is read completely', (_name, pack) => {
    const text = Buffer.concat([pack(Buffer.from(`${sentence} said Iris. `)), pack(Buffer.from(other))]).toString(
      'base64',
    )
    expect(findIn(text, sentence) && findIn(text, other)).toBe(true)
  })
  it('keeps the words of the following stream when words of the first are cut', () => {
    const streams = [deflateSync(`${sentence} said Iris. `), deflateSync(other)]
    const text = `before ${Buffer.concat(streams).toString('base64')} after`
    const rest = cutFrom(text, sentence) ?? ''
    expect(inflateSync(Buffer.from(rest.split(' ')[1] ?? '', 'base64')).toString()).toContain(other)
    expect(findIn(rest, sentence)).toBe(false)
  })
  it('is left as it is if something else follows it', () => {
    const text = Buffer.concat([deflateSync(sentence), Buffer.from(other)]).toString('base64')
    expect(findIn(text, sentence)).toBe(false)
  })
  it('is read up to 32 MiB in one text', () => {
    const bytes = gzipSync('word '.repeat(1_400_000))
    const isRead = () => unpacked(bytes) !== undefined
    beginUnpacking()
    expect(Array.from({ length: 6 }, isRead)).toEqual([true, true, true, true, false, false])
    beginUnpacking()
    expect(isRead()).toBe(true)
  })
  it('is read after any number of values that only look compressed', () => {
    const bytes = (n: number) => createHash('shake256', { outputLength: 96 }).update(String(n)).digest('base64')
    const rows = Array.from({ length: 1_000 }, (_, n) => JSON.stringify({ embedding: bytes(n) }))
    const text = [...rows, JSON.stringify({ body: gzipSync(sentence).toString('base64') })].join('\n')
    expect(findIn(text, sentence)).toBe(true)
  })
  it('marks the views as incomplete when a bound leaves it unread', () => {
    const damaged = Buffer.concat([gzipSync(sentence).subarray(0, 30), Buffer.alloc(30, 7)]).toString('base64')
    const row = (body: string) => JSON.stringify({ body })
    const packed = row(gzipSync(other).toString('base64'))
    expect(viewsOf(packed).isIncomplete).toBe(false)
    const text = [...Array.from({ length: 300 }, (_, n) => row(`${damaged} ${n}`)), packed].join('\n')
    expect(findIn(text, other)).toBe(false)
    expect(viewsOf(text).isIncomplete).toBe(true)
  })
})
