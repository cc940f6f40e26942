'use client'

import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { Alert } from '#components/ui/alert.tsx'
import { Section } from '#components/ui/page.tsx'
import type { StoredKeyring } from './endpoints.ts'
import { KeyringStart } from './keyring-start.tsx'
import { OpenBar } from './open-bar.tsx'
import { UnlockForm } from './unlock-form.tsx'
import type { OpenVault } from './use-vault.ts'

interface KeyringSectionProps {
  agentId: string
  keyring: StoredKeyring | null
  vault: OpenVault
  isWritable: boolean
}

/** The keys of a grimoire: create a keyring, unlock it or lock it. */
export function KeyringSection({ agentId, isWritable, keyring, vault }: KeyringSectionProps) {
  const t = useTranslations('agentGrimoire')
  const [madeId, setMadeId] = useState<string>()
  const { isOpen, opened, lock } = vault
  const keyId = keyring?.keyring.key_id
  // The worker that made a keyring already holds its key: the grimoire opens once that same keyring is known to be stored.
  useEffect(() => {
    if (madeId === undefined || keyId === undefined) return
    if (madeId === keyId) {
      setMadeId(undefined)
      opened('passphrase')
    } else lock()
  }, [madeId, keyId, opened, lock])
  if (!keyring)
    return (
      <Section id="keys" title={t('start.title')}>
        {isWritable ? (
          <KeyringStart agentId={agentId} vault={vault} onMade={setMadeId} />
        ) : (
          <p className="text-quiet">{t('start.hindered')}</p>
        )}
      </Section>
    )
  return (
    <Section
      id="keys"
      title={t(isOpen ? 'open.section' : 'unlock.section')}
      lead={isOpen ? undefined : t('unlock.lead')}
    >
      {madeId !== undefined && madeId !== keyId && <Alert tone="danger" title={t('start.other')} isLive />}
      {isOpen ? (
        <OpenBar keyring={keyring} vault={vault} isWritable={isWritable} />
      ) : (
        <UnlockForm keyring={keyring.keyring} vault={vault} />
      )}
    </Section>
  )
}
