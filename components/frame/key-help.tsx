'use client'

import { useTranslations } from 'next-intl'
import { Dialog } from '#components/ui/dialog.tsx'
import { Checkbox } from '#components/ui/field.tsx'
import { switchKeys, useAreKeysOn, useRegisteredKeys } from './keys.ts'

/** Lists every active keyboard shortcut and its effect. */
export function KeyHelp({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  const t = useTranslations('frame')
  const areOn = useAreKeysOn()
  const groups = useRegisteredKeys()
  const actions = [...new Map(groups.flat().map((action) => [action.key, action])).values()]
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={t('keysTitle')} lead={<p>{t('keysText')}</p>}>
      <Checkbox
        label={t('keysOn')}
        hint={t('keysOnText')}
        checked={areOn}
        onChange={(event) => switchKeys(event.currentTarget.checked)}
      />
      <dl className="grid grid-cols-[max-content_1fr] gap-x-6 gap-y-2">
        {actions.map(({ key, label }) => (
          <div key={key} className="contents">
            <dt>
              {key.split(' ').map((one) => (
                <kbd
                  key={one}
                  className="mr-1 rounded-small border border-edge bg-raised px-1.5 py-0.5 font-mono text-sm"
                >
                  {one}
                </kbd>
              ))}
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
