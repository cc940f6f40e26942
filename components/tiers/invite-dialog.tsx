'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { DialogFooter } from '#components/ui/dialog-footer.tsx'
import { Choice, Field, Select } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Secret } from '#components/ui/secret.tsx'
import { Time } from '#components/ui/time.tsx'
import { shownOnce } from '#lib/client/shown-once.ts'
import { type TierName, tiers } from '#lib/domains/tokens/rules.ts'
import { inviteAt } from './endpoints.ts'

interface Made {
  code: string
  expires_at: string
}

function InviteForm({ onMade }: { onMade: (made: Made) => void }) {
  const t = useTranslations('tiers')
  const tokens = useTranslations('tokens')
  const [may, setMay] = useState<'read' | 'write'>('read')
  const [tier, setTier] = useState<TierName>('free')
  const [days, setDays] = useState('7')
  const invite = useApiMutation(inviteAt, { isQuiet: true })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    invite.begin(
      { body: { scopes: may === 'write' ? ['read', 'write'] : ['read'], tier, expires_in_days: Number(days) } },
      ({ data }) => onMade({ ...data, code: shownOnce(data.code) }),
    )
  }
  return (
    <form onSubmit={submit} className="grid gap-5">
      {invite.problem && <ProblemAlert problem={invite.problem} />}
      <Choice
        label={tokens('columns.scopes')}
        name="scopes"
        value={may}
        onChange={setMay}
        options={[
          { value: 'read', title: tokens('scopes.read'), text: t('invite.readText') },
          { value: 'write', title: t('invite.write'), text: t('invite.writeText') },
        ]}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <Select
          label={t('agents.tier')}
          value={tier}
          onChange={({ target }) => setTier(tiers.find((one) => one === target.value) ?? 'free')}
          options={tiers.map((one) => ({ value: one, title: t(`tiers.${one}`) }))}
        />
        <Field
          label={t('invite.days')}
          hint={t('invite.daysHint')}
          type="number"
          min={1}
          max={90}
          step={1}
          required
          value={days}
          onChange={({ target }) => setDays(target.value)}
        />
      </div>
      <DialogFooter>
        <Button type="submit" aria-disabled={invite.isPending}>
          {t('invite.make')}
        </Button>
      </DialogFooter>
    </form>
  )
}

/** Invites an agent and shows the code once. */
export function InviteDialog() {
  const t = useTranslations('tiers.invite')
  const key = useTranslations('tokens.key')
  const [isOpen, setIsOpen] = useState(false)
  const [made, setMade] = useState<Made>()
  const close = () => {
    setIsOpen(false)
    setMade(undefined)
  }
  return (
    <>
      <Button onClick={() => setIsOpen(true)}>{t('open')}</Button>
      <Dialog
        open={isOpen}
        onOpenChange={(next) => (next ? setIsOpen(true) : close())}
        title={t('title')}
        lead={
          made ? <p>{t.rich('made', { time: () => <Time at={made.expires_at} relative /> })}</p> : <p>{t('lead')}</p>
        }
      >
        {made ? (
          <div className="grid gap-5">
            <Secret value={made.code} label={t('code')} />
            <DialogFooter>
              <Button onClick={close}>{key('done')}</Button>
            </DialogFooter>
          </div>
        ) : (
          <InviteForm onMade={setMade} />
        )}
      </Dialog>
    </>
  )
}
