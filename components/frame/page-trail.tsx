'use client'

import { usePathname, useSearchParams } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { TextLink } from '#components/ui/text-link.tsx'
import type { Role } from '#lib/domains/accounts/rules.ts'
import { currentEntry } from './navigation.ts'
import { pageAt } from './pages.ts'

/** Where the reader is: the group and the section, which links to its list from a page below it. */
export function PageTrail({ role }: { role: Role }) {
  const groups = useTranslations('frame.groups')
  const names = useTranslations('pages')
  const path = usePathname()
  const current = currentEntry(role, path, useSearchParams().get('tab'))
  const page = pageAt(path)
  if (!current) return page ? <p className="truncate text-sm text-quiet">{names(page.name)}</p> : null
  const title = names(current.entry.name)
  return (
    <p className="flex min-w-0 items-center gap-1.5 text-sm text-quiet">
      <span className="truncate max-sm:hidden">{groups(current.group)}</span>
      <span aria-hidden className="max-sm:hidden">
        /
      </span>
      {path === current.entry.href.split('?', 1)[0] ? (
        <span className="truncate text-ink">{title}</span>
      ) : (
        <TextLink href={current.entry.href} tone="ink" className="flex min-h-6 items-center truncate">
          {title}
        </TextLink>
      )}
    </p>
  )
}
