import { NextIntlClientProvider } from 'next-intl'
import { type ComponentProps, createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, it } from 'vitest'
import en from '#messages/en.ts'
import { type ErasurePlace, PlaceCards } from './place-cards.tsx'

const place = (more: Partial<ErasurePlace> = {}): ErasurePlace => ({
  store: 'postgresql',
  records: 3,
  remaining: 3,
  held: 0,
  found_again: null,
  waiting_since: null,
  ...more,
})
/** The cards as the server renders them. */
function markupOf(places: readonly ErasurePlace[], more: { isOver?: boolean; hasFailed?: boolean } = {}): string {
  const props: ComponentProps<typeof NextIntlClientProvider> = {
    locale: 'en',
    messages: en,
    timeZone: 'UTC',
    now: new Date('2026-01-31T12:00:00Z'),
    children: createElement(PlaceCards, { places, ...more }),
  }
  return renderToStaticMarkup(createElement(NextIntlClientProvider, props))
}
const barOf = (markup: string) => /<progress[^>]*>/.exec(markup)?.[0]

it('a page that is opened or reloaded during an erasure begins with the remaining records, in number and bar', () => {
  const markup = markupOf([place({ remaining: 1 })])
  expect(markup).toMatch(/>1<\/span>.*of 3 left/)
  expect(barOf(markup)).toContain('value="1" max="3"')
  expect(markup).toContain('Deleting')
  expect(markupOf([place({ remaining: 0 })])).toContain('Deleted. Searching again.')
})

it.each([
  [{ remaining: 2 }, 'Deleting'],
  [{ remaining: 2, has_stopped: true }, 'Interrupted: not all deleted yet'],
  [{ remaining: 0 }, 'Deleted. Searching again.'],
  [{ remaining: 0, found_again: 0 }, 'Searched again: nothing found'],
  [{ remaining: 2, held: 2 }, 'Kept by a legal hold: 2. Deleted when the hold ends.'],
  [{ waiting_since: '2026-01-31T11:00:00.000Z' }, 'Store not answering since'],
])('the state of a place with %j is announced with its name', (more, words) => {
  const live = /<p aria-live="polite" aria-atomic="true"[^>]*>(.*?)<\/p>/.exec(markupOf([place(more)]))?.[1]
  expect(live?.replace(/<[^>]*>/g, '')).toMatch(new RegExp(`^Database: ${words}`))
})

it('the places of an erasure that has ended show its result immediately', () => {
  const markup = markupOf([place({ remaining: 0, found_again: 0 })], { isOver: true })
  expect(markup).toMatch(/>0<\/span>.*of 3 left/)
  expect(barOf(markup)).toContain('value="0" max="3"')
  expect(markup).toContain('Searched again: nothing found')
  expect(markup).not.toContain('Deleting')
})

it('a place of a failed erasure does not say that its records are being deleted', () => {
  const markup = markupOf([place({ remaining: 2 })], { hasFailed: true })
  expect(markup).toContain('Interrupted: not all deleted yet')
  expect(markup).not.toContain('Deleting')
})

it('a store that does not answer before its records are counted shows since when, and no number', () => {
  const markup = markupOf([
    place({ store: 'side', records: 0, remaining: 0, waiting_since: '2026-01-31T11:00:00.000Z' }),
  ])
  expect(markup).toContain('Store not answering since')
  expect(barOf(markup)).toBeUndefined()
  expect(markup).not.toContain('left')
})

it('records under legal hold are counted, and the hold is named, after everything else is deleted', () => {
  const markup = markupOf([place({ remaining: 3, held: 3, found_again: 0 })])
  expect(markup).toContain('Kept by a legal hold: 3. Deleted when the hold ends.')
  expect(markup).not.toContain('nothing found')
})

it('forty stores with long names and names from right to left have a card each', () => {
  const names = Array.from({ length: 40 }, (_, n) =>
    n % 2 === 0 ? `${'مخزن'.repeat(50)}${n}` : `${'store'.repeat(40)}${n}`,
  )
  const markup = markupOf(names.map((store) => place({ store })))
  expect(markup.match(/<li/g)).toHaveLength(40)
  for (const name of names) expect(markup).toContain(`<bdi class="min-w-0 font-medium wrap-anywhere">${name}</bdi>`)
})
