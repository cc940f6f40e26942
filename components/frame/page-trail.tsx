'use client'

import { usePathname, useSearchParams } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { Trail, useTrail } from '#components/ui/trail.tsx'
import type { Role } from '#lib/domains/accounts/rules.ts'
import { currentEntry } from './navigation.ts'
import { pageAt } from './pages.ts'

/** Where the reader is: the group and the section, or the pages above a page below a section. Until that page has named them, its section. */
export function PageTrail({ role }: { role: Role }) {
  const groups = useTranslations('frame.groups')
  const names = useTranslations('pages')
  const path = usePathname()
  const current = currentEntry(role, path, useSearchParams().get('tab'))
  const page = pageAt(path)
  const trail = useTrail()
  if (!current) return page ? <p className="truncate text-sm text-quiet">{names(page.name)}</p> : null
  const href = current.entry.href
  if (path !== href.split('?', 1)[0])
    return <Trail trail={trail.length > 0 ? trail : [{ href, title: names(current.entry.name) }]} />
  return (
    <p className="flex min-w-0 items-center gap-1.5 text-sm text-quiet">
      <span className="truncate max-sm:hidden">{groups(current.group)}</span>
      <span aria-hidden className="max-sm:hidden">
        /
      </span>
      <span className="truncate text-ink">{names(current.entry.name)}</span>
    </p>
  )
}
