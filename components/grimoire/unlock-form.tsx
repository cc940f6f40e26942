'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { FormBox } from '#components/ui/form-box.tsx'
import type { OpenVault } from './use-vault.ts'
import { vaultCode } from './vault.ts'
import { VaultFault } from './vault-fault.tsx'
import type { Opening, VaultCode } from './vault-protocol.ts'

/** Faults that are shown at the field. All others do not concern the typed text. */
const ofField = ['wrong_passphrase', 'wrong_recovery_code', 'mistyped_recovery_code'] as const
const isOfField = (code: VaultCode | undefined): code is (typeof ofField)[number] => ofField.some((one) => one === code)

/** Opens the keyring in the browser with the passphrase or the recovery code. */
export function UnlockForm({ keyring, vault }: { keyring: unknown; vault: OpenVault }) {
  const t = useTranslations('agentGrimoire.unlock')
  const faults = useTranslations('agentGrimoire.faults')
  const [by, setBy] = useState<Opening['by']>('passphrase')
  const [typed, setTyped] = useState('')
  const [isOpening, setOpening] = useState(false)
  const [fault, setFault] = useState<VaultCode>()

  const open = async () => {
    const secret = by === 'passphrase' ? typed : typed.trim()
    if (secret === '' || isOpening) return
    setFault(undefined)
    setOpening(true)
    try {
      await vault.ask('open', { keyring, by, secret })
      setTyped('')
      vault.opened(by)
    } catch (error) {
      setFault(vaultCode(error))
    } finally {
      setOpening(false)
    }
  }
  const turn = () => {
    setBy(by === 'passphrase' ? 'code' : 'passphrase')
    setTyped('')
    setFault(undefined)
  }
  return (
    <FormBox name="unlock" submit={t(isOpening ? 'opening' : 'open')} isPending={isOpening} onSubmit={open}>
      {vault.wasIdle && <Alert tone="info" title={t('wasIdle')} isLive />}
      {fault && !isOfField(fault) && <VaultFault code={fault} />}
      {/* No `name`: a browser may submit the form before hydration, and it sends only named fields. */}
      <Field
        key={by}
        label={t(`${by}.label`)}
        hint={t(`${by}.hint`)}
        data-unlock
        type={by === 'passphrase' ? 'password' : 'text'}
        autoComplete={by === 'passphrase' ? 'current-password' : 'off'}
        autoCapitalize={by === 'passphrase' ? 'none' : 'characters'}
        spellCheck={false}
        className={by === 'code' ? 'font-mono' : undefined}
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
        error={isOfField(fault) ? `${faults(`${fault}.what`)} ${faults(`${fault}.do`)}` : undefined}
        required
      />
      <p role="status" className="sr-only">
        {isOfField(fault) ? faults(`${fault}.what`) : isOpening ? t('opening') : ''}
      </p>
      <Button tone="ghost" size="small" onClick={turn} className="justify-self-start">
        {t(`${by}.other`)}
      </Button>
    </FormBox>
  )
}
