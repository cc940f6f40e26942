'use client'

import { useTranslations } from 'next-intl'
import { Button } from '#components/ui/button.tsx'
import type { OrganisationMember } from '#lib/domains/accounts/users-contract.ts'

interface MemberActionsProps {
  member: OrganisationMember
  isSending: boolean
  onResend: () => void
  onWithdraw: () => void
  onFile: () => void
}
/** What a manager can do for a member. */
export function MemberActions({ member, isSending, onResend, onWithdraw, onFile }: MemberActionsProps) {
  const t = useTranslations('members')
  const { name, state, role } = member
  const isInvited = state === 'invited' && (role === 'person' || role === 'manager')
  return (
    <span className="flex flex-wrap justify-end gap-2 as-cards:justify-start">
      {isInvited && (
        <>
          <Button
            tone="plain"
            size="small"
            aria-label={t('resendNamed', { name })}
            aria-disabled={isSending}
            onClick={onResend}
          >
            {t('resend')}
          </Button>
          <Button tone="plain" size="small" aria-label={t('withdrawNamed', { name })} onClick={onWithdraw}>
            {t('withdraw')}
          </Button>
        </>
      )}
      <Button tone="plain" size="small" aria-label={t('fileNamed', { name })} onClick={onFile}>
        {t('file')}
      </Button>
    </span>
  )
}
