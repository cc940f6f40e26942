import { expect, it } from 'vitest'
import { namePatterns } from './name-search.ts'

it.each([
  ['Kim', '%kim%', '%kim%'],
  ['ki', 'ki%', '% ki%'],
  ['王伟', '王伟%', '% 王伟%'],
  [' 100%_\\ ', '%100\\%\\_\\\\%', '%100\\%\\_\\\\%'],
])('namePatterns(%j) returns %j and %j', (typed, one, other) =>
  expect(namePatterns(typed)).toMatchObject({ one, other }),
)
