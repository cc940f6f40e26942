'use client'

import { useFormatter, useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { ButtonLink } from '#components/ui/button.tsx'
import { Drawer } from '#components/ui/dialog.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Time } from '#components/ui/time.tsx'

export interface InventoryRow {
  key: string
  what: string
  store: string
  /** Null if the records are not counted. */
  records: number | null
  since: string | null
  until: string | null
  contains: string
  term: string
  why: string
  ground: string
  place: string
  /** The page that lists the records. */
  href: string | undefined
}

/** One category of personal data: contents, purpose, legal basis, location and retention, with a link to the records. */
export function CategoryDrawer({ row, onClose }: { row: InventoryRow | undefined; onClose: () => void }) {
  const t = useTranslations('inventory')
  const format = useFormatter()
  if (!row) return null
  const { what, contains, records, since, until, term, why, ground, store, place, href } = row
  const facts: (readonly [string, ReactNode])[] = [
    [t('columns.records'), records === null ? t('uncounted') : format.number(records)],
    ...(contains === '' ? [] : [[t('facts.contains'), contains] as const]),
    [t('facts.why'), why],
    [t('facts.ground'), ground],
    [t('facts.where'), place === '' ? store : `${store}: ${place}`],
    ...(since === null ? [] : [[t('columns.since'), <Time key="since" at={since} />] as const]),
    [t('columns.until'), term],
    ...(until === null ? [] : [[t('facts.last'), <Time key="last" at={until} relative />] as const]),
  ]
  return (
    <Drawer
      open
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title={what}
      {...(href !== undefined && {
        footer: (
          <ButtonLink href={href} tone="plain">
            {t('open')}
          </ButtonLink>
        ),
      })}
    >
      <FactList facts={facts} />
    </Drawer>
  )
}
