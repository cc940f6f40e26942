'use client'

import { useTranslations } from 'next-intl'
import { Button } from '#components/ui/button.tsx'
import { Menu } from '#components/ui/menu.tsx'
import { type RequestKind, requestKinds } from '#lib/domains/privacy-requests/rules.ts'

/** Where each kind of request is filed. An access request and a portable copy are both downloads. */
const places: Readonly<Record<RequestKind, string>> = {
  access: '/settings/privacy?tab=download',
  portability: '/settings/privacy?tab=download',
  rectification: '/settings/privacy?tab=correct',
  restriction: '/settings/privacy?tab=restrict',
  objection: '/settings/privacy?tab=restrict#object',
  erasure: '/settings/privacy/delete',
}

/** A menu with the six rights. Each leads to the form of its request. */
export function NewRequestMenu() {
  const t = useTranslations('requests')
  const names = useTranslations('requestNames')
  return (
    <Menu
      trigger={<Button>{t('new')}</Button>}
      items={requestKinds.map((kind) => ({
        key: kind,
        label: names(`kinds.${kind}`),
        href: places[kind],
      }))}
    />
  )
}
