'use client'

import { useTranslations } from 'next-intl'
import { useApiMutation } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { organisationMemberRoles } from '#lib/domains/accounts/rules.ts'
import { inviteMemberAt, organisationMembersAt } from './endpoints.ts'
import { InvitationDialog, InvitationForm, type Invited } from './invitation.tsx'

interface Draft extends Invited<(typeof organisationMemberRoles)[number]>, Record<string, string> {}
const empty: Draft = { email: '', name: '', role: 'person', locale: 'en' }

function MemberForm({ onSent }: { onSent: (name: string) => void }) {
  const { draft, change, clear } = useDraft<Draft>('invite-member', empty)
  const inviting = useApiMutation(inviteMemberAt, { touches: [organisationMembersAt.path] })
  const send = () =>
    inviting.begin({ body: { ...draft, email: draft.email.trim() } }, () => {
      clear()
      onSent(draft.name)
    })
  return (
    <InvitationForm draft={draft} change={change} roles={organisationMemberRoles} inviting={inviting} onSubmit={send} />
  )
}

/** Invites a person to the reader's organization. */
export function InviteMember({ organisation }: { organisation: string }) {
  const t = useTranslations('members.invite')
  return (
    <InvitationDialog
      open={t('open')}
      title={t('title', { organisation })}
      sentText={t('sentText')}
      form={(onSent) => <MemberForm onSent={onSent} />}
    />
  )
}
