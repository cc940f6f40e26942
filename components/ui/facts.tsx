import type { ReactNode } from 'react'

/** Names with their values, side by side; stacked where the container is narrow, such as a phone or a facts column. */
export const FactList = ({ facts }: { facts: readonly (readonly [name: string, value: ReactNode])[] }) => (
  <div className="@container min-w-0">
    <dl className="grid gap-x-6 gap-y-2.5 @sm:grid-cols-[max-content_1fr] @sm:gap-y-2">
      {facts.map(([name, value]) => (
        <div key={name} className="@sm:contents">
          <dt className="text-quiet @max-sm:text-sm">{name}</dt>
          <dd className="min-w-0 [overflow-wrap:anywhere]">{value}</dd>
        </div>
      ))}
    </dl>
  </div>
)
