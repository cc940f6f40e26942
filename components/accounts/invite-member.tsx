'use client'

import { useTranslations } from 'next-intl'
import { useApiBatch } from '#components/frame/api-batch.ts'
import { useDraft } from '#components/frame/draft.ts'
import { organisationMemberRoles } from '#lib/domains/accounts/rules.ts'
import { inviteMemberAt, organisationMembersAt } from './endpoints.ts'
import { InvitationDialog, InvitationForm, type Invited } from './invitation.tsx'
import type { TypedAddress } from './typed-addresses.ts'

interface Draft extends Invited<(typeof organisationMemberRoles)[number]>, Record<string, string> {}
const empty: Draft = { addresses: '', role: 'person', locale: 'en' }

function MemberForm({ onDone }: { onDone: () => void }) {
  const { draft, change, clear } = useDraft<Draft>('invite-member', empty)
  const { role, locale } = draft
  const inviting = useApiBatch(inviteMemberAt, (person: TypedAddress) => ({ body: { ...person, role, locale } }), {
    touches: [organisationMembersAt.path],
  })
  const form = { draft, change, clear, inviting, onDone }
  return <InvitationForm roles={organisationMemberRoles} {...form} />
}

/** Invites people to the reader's organization. */
export function InviteMember({ organisation }: { organisation: string }) {
  const t = useTranslations('members.invite')
  return (
    <InvitationDialog
      open={t('open')}
      title={t('title', { name: organisation })}
      form={(onDone) => <MemberForm onDone={onDone} />}
    />
  )
}
