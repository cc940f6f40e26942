'use client'

import { useTranslations } from 'next-intl'
import { Alert } from '#components/ui/alert.tsx'
import type { VaultCode } from './vault-protocol.ts'

/** Why the vault did not do it: what happened, what was not lost, what to do. */
export function VaultFault({ code }: { code: VaultCode }) {
  const t = useTranslations('agentGrimoire.faults')
  return (
    <Alert tone={code === 'failed' ? 'warning' : 'danger'} title={t(`${code}.what`)} isLive>
      <p>{t(`${code}.do`)}</p>
    </Alert>
  )
}
