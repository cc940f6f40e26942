import { expect, it } from 'vitest'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'

function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  else if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) yield* textsIn(inner)
}

// A run counts both kinds together. Its receipt and the list of its steps count them apart.
it.each([
  ['English', en, /deleted/i, /deleted or with name removed/i],
  ['Chinese', zh, /已删除/, /已删除或移除姓名/],
] as const)(
  'the counts of an erasure run in %s include records whose name was removed',
  (_, messages, deleted, both) => {
    const { erasures, storeProgress, timeline, adminRequest } = messages
    const { deleted: ofOneKind, ...progress } = storeProgress
    const counts = [...textsIn([erasures, progress, timeline]), adminRequest.parts.erased]
      .filter((text) => text === adminRequest.parts.erased || text.includes('{erased'))
      .filter((text) => deleted.test(text))
    expect(counts.length).toBeGreaterThan(8)
    for (const text of counts) expect(text).toMatch(both)
  },
)
