import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { asDownload, chunksOf, FileName, SingleLine } from './rules.ts'

const all = async (chunks: AsyncIterable<string>) => {
  const found: string[] = []
  for await (const chunk of chunks) found.push(chunk)
  return found
}

describe('chunksOf', () => {
  it('returns chunks that together are the text, within the size, with no character divided, however the bytes arrive', () =>
    fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'binary', maxLength: 400 }),
        fc.integer({ min: 2, max: 50 }),
        fc.integer({ min: 1, max: 7 }),
        async (text, size, step) => {
          const bytes = Buffer.from(text.replaceAll('\0', ' '))
          const pieces = Array.from({ length: Math.ceil(bytes.length / step) }, (_, n) =>
            bytes.subarray(n * step, (n + 1) * step),
          )
          const chunks = await all(chunksOf(pieces, size))
          expect(chunks.join('')).toBe(bytes.toString())
          expect(chunks.every((chunk) => chunk.length > 0 && chunk.length <= size && chunk.isWellFormed())).toBe(true)
        },
      ),
      { numRuns: 50 },
    ))

  it('ends a chunk after a line or sentence if one ends late enough', async () => {
    expect(await all(chunksOf([Buffer.from('One two.\nThree four five.')], 12))).toEqual([
      'One two.\n',
      'Three four ',
      'five.',
    ])
  })
})

describe('Line and FileName', () => {
  it('accept any script and reject invisible characters', () => {
    for (const name of ['report.pdf', '计划 2026.docx', 'می‌خواهم.txt', 'a'.repeat(200)])
      expect(FileName.safeParse(name).success).toBe(true)
    for (const name of [
      'a/b',
      'a\\b',
      '.',
      '..',
      '',
      '  ',
      'a\nb',
      'a‮b',
      'a\u200bb',
      'a\u2028b',
      '\ud800',
      'a'.repeat(201),
    ])
      expect([name, FileName.safeParse(name).success]).toEqual([name, false])
    expect(SingleLine.parse('  a/b é ')).toBe('a/b é')
  })

  it('asDownload returns no additional header, whatever the file name is', () =>
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }), (name) => {
        fc.pre(FileName.safeParse(name).success)
        const header = asDownload(FileName.parse(name))
        expect(header).toMatch(
          /^attachment; filename="[\x20-\x21\x23-\x5b\x5d-\x7e]*"; filename\*=UTF-8''[\w.!~%*+&$#^`|-]*$/,
        )
        expect(decodeURIComponent(header.split("UTF-8''")[1] ?? '')).toBe(FileName.parse(name))
      }),
    ))
})
