import { expect, it } from 'vitest'
import { fileTypes } from '#lib/domains/projects/rules.ts'
import { mediaTypeOf } from './uploading.ts'

it.each([
  ['notes.md', '', 'text/markdown'],
  ['notes.MD', 'text/x-markdown', 'text/markdown'],
  ['table.csv', 'application/vnd.ms-excel', 'application/vnd.ms-excel'],
  ['plain.txt', 'text/plain; charset=utf-8', 'text/plain'],
  ['model.safetensors', '', 'application/octet-stream'],
  ['json', 'application/x-nothing', 'application/json'],
  ['__proto__', '', 'application/octet-stream'],
  ['x.constructor', '', 'application/octet-stream'],
])('mediaTypeOf the file %s with the browser type %j returns %s', (name, type, expected) =>
  expect(mediaTypeOf({ name, type }, fileTypes)).toBe(expected),
)
