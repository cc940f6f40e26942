import type { ReactNode } from 'react'

export interface NoticeEntry {
  key: string
  what: ReactNode
  text: ReactNode
  term: string
}

/** What is stored and for how long, side by side; stacked on a phone. */
export const NoticeList = ({
  id,
  title,
  howLong,
  entries,
  isTitleHidden = false,
}: {
  id: string
  title: string
  /** Label for screen readers. */
  howLong: string
  entries: readonly NoticeEntry[]
  isTitleHidden?: boolean
}) => (
  <section aria-labelledby={id} className="grid gap-1 pt-4">
    <h3 id={id} className={isTitleHidden ? 'sr-only' : 'font-semibold'}>
      {title}
    </h3>
    <dl className="grid">
      {entries.map(({ key, what, text, term }) => (
        <div
          key={key}
          className="grid gap-x-6 gap-y-0.5 border-b border-line py-2.5 last:border-0 sm:grid-cols-[1fr_11rem] sm:grid-rows-[auto_1fr]"
        >
          <dt className="font-medium">{what}</dt>
          <dd className="text-quiet sm:col-start-1">{text}</dd>
          <dd className="sm:col-start-2 sm:row-span-2 sm:row-start-1">
            <span className="text-quiet sm:sr-only">
              {howLong}
              {howLong.endsWith('：') ? '' : ' '}
            </span>
            {term}
          </dd>
        </div>
      ))}
    </dl>
  </section>
)

export const Points = ({ points }: { points: readonly (readonly [key: string, text: ReactNode])[] }) => (
  <ul className="grid list-disc gap-2 pl-5">
    {points.map(([key, text]) => (
      <li key={key}>{text}</li>
    ))}
  </ul>
)
