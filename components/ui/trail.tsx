'use client'

import { clsx } from 'clsx'
import { useTranslations } from 'next-intl'
import { useLayoutEffect, useSyncExternalStore } from 'react'
import { TextLink } from './text-link.tsx'

export interface Breadcrumb {
  href: string
  title: string
}

const none: readonly Breadcrumb[] = []
const watchers = new Set<() => void>()
let current = none

function show(trail: readonly Breadcrumb[]): void {
  current = trail
  for (const watcher of watchers) watcher()
}
const watch = (watcher: () => void) => {
  watchers.add(watcher)
  return () => {
    watchers.delete(watcher)
  }
}

/** The pages above the current one, as it names them; empty while it loads. */
export const useTrail = (): readonly Breadcrumb[] =>
  useSyncExternalStore(
    watch,
    () => current,
    () => none,
  )

export function Trail({ trail, className }: { trail: readonly Breadcrumb[]; className?: string }) {
  const t = useTranslations('common')
  return (
    <nav aria-label={t('breadcrumbs')} className={clsx('min-w-0 text-sm print:hidden', className)}>
      <ol className="flex min-w-0 items-center gap-x-1 text-quiet">
        {trail.map(({ href, title }) => (
          <li
            key={href}
            className={clsx(
              "flex min-h-6 min-w-0 items-center gap-1 not-last:after:content-['/'_/_''] max-sm:not-last:hidden",
              // Where there is room, only a long name is cut, so that its neighbors stay readable.
              title.length <= 16 && 'xl:shrink-0',
            )}
          >
            <TextLink href={href} tone="quiet" className="truncate">
              {title}
            </TextLink>
          </li>
        ))}
      </ol>
    </nav>
  )
}

/** Names the pages above this one for the bar at the top. Without a sidebar, which has this bar, they stand above the title. */
export function Breadcrumbs({ trail }: { trail: readonly Breadcrumb[] }) {
  useLayoutEffect(() => {
    show(trail)
    return () => show(none)
  }, [trail])
  return <Trail trail={trail} className="in-[.with-sidebar]:hidden" />
}
