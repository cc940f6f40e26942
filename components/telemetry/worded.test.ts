import { expect, test } from 'vitest'
import { events } from '#lib/domains/telemetry/capture.ts'
import en from '#messages/en.ts'
import { worded } from './worded.ts'

test('every telemetry event has a translation that matches its declaration', () => {
  expect(worded.toSorted()).toEqual(Object.keys(events).toSorted())
  const declared = Object.entries(events).map(([name, { what }]) => [name, what])
  expect(en.telemetry.events.what).toEqual(Object.fromEntries(declared))
})
