import type { ReactNode } from 'react'
import type { ListedRecord } from './knowledge.ts'

/** A search result excerpt with highlighted words, always rendered as text. */
export function SearchSnippet({ snippet: { text, highlights } }: { snippet: NonNullable<ListedRecord['snippet']> }) {
  const pieces: ReactNode[] = []
  let at = 0
  for (const { start, end } of highlights) {
    pieces.push(text.slice(at, start))
    pieces.push(
      <mark key={start} className="rounded-small bg-accent-wash font-medium text-ink">
        {text.slice(start, end)}
      </mark>,
    )
    at = end
  }
  pieces.push(text.slice(at))
  return <bdi>{pieces}</bdi>
}
