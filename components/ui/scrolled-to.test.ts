import { describe, expect, it } from 'vitest'
import { scrolledTo } from './scrolled-to.ts'

describe('scrolledTo', () => {
  it.each([
    ['an item in view', { start: 100, width: 80 }, { left: 0, width: 300 }, 0],
    ['an item after the view', { start: 400, width: 80 }, { left: 0, width: 300 }, 212],
    ['an item that ends after the view', { start: 250, width: 80 }, { left: 0, width: 300 }, 62],
    ['an item before the view', { start: 100, width: 80 }, { left: 200, width: 300 }, 68],
    ['the first item', { start: 4, width: 80 }, { left: 200, width: 300 }, 0],
    ['an item that is wider than the view', { start: 100, width: 400 }, { left: 0, width: 300 }, 68],
  ])('returns the scroll position for %s', (_case, item, view, left) => expect(scrolledTo(item, view)).toBe(left))
})
