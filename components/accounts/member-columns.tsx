'use client'

import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { Badge, type BadgeTone } from '#components/ui/badge.tsx'
import type { ShownColumn } from '#components/ui/table.tsx'
import { Time } from '#components/ui/time.tsx'
import type { OrganisationMember } from '#lib/domains/accounts/users-contract.ts'

const tones: Record<OrganisationMember['state'], BadgeTone> = {
  invited: 'progress',
  active: 'success',
  deactivated: 'neutral',
}

/** The columns of the member list; `me` is the reader. */
export function useMemberColumns(
  me: string,
  actions: (member: OrganisationMember) => ReactNode,
): ShownColumn<OrganisationMember>[] {
  const t = useTranslations('members')
  const roleNames = useTranslations('roles.names')
  return [
    {
      key: 'person',
      title: t('person'),
      main: true,
      minWidth: 'long',
      value: ({ name }) => name,
      cell: ({ name, email, account_id }) => (
        <>
          {name}
          {account_id === me && <span className="font-normal text-accent"> · {t('you')}</span>}
          <span className="block font-normal text-quiet">{email}</span>
        </>
      ),
    },
    {
      key: 'role',
      title: t('role'),
      minWidth: 'short',
      value: ({ role }) => roleNames(role),
    },
    {
      key: 'state',
      title: t('state'),
      value: ({ state }) => t(`states.${state}`),
      cell: ({ state }) => (
        <Badge tone={tones[state]} hasDot>
          {t(`states.${state}`)}
        </Badge>
      ),
    },
    {
      key: 'since',
      title: t('since'),
      value: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Time at={created_at} show="relative" />,
    },
    {
      key: 'actions',
      title: t('actions'),
      isTitleHidden: true,
      cell: (member) => member.account_id !== me && actions(member),
    },
  ]
}
