import { expect, it } from 'vitest'
import { sameName } from './names.ts'

it.each([
  ['Jürgen Müller', 'Juergen Mueller'],
  ['Juergen Mueller', 'Jürgen Müller'],
  ['Jürgen Müller', 'Müller, Jürgen'],
  ['Jürgen Müller', 'Dr. Jürgen Müller'],
  ['Dr. Jürgen Müller', 'jurgen muller'],
  ['iris', 'Iris'],
])('%s is the name of %s', (name, other) => expect(sameName(name)(other)).toBe(true))
it.each([
  ['Jürgen Müller', 'Jürgen Schmidt'],
  ['Jürgen Müller', 'Anna Müller'],
  ['Jürgen Müller', ''],
  ['Iris', 'Iris Probe'],
])('%s is not the name of %s', (name, other) => expect(sameName(name)(other)).toBe(false))
