import { useTranslations } from 'next-intl'
import { FactList } from '#components/ui/facts.tsx'
import { tierLimits } from '#lib/domains/tokens/rules.ts'
import { ReadingSwitch } from './reading-switch.tsx'

interface InstallationSettingsProps {
  isReadingOpen: boolean
  registration: 'open' | 'invite' | 'closed'
}
/** Who can read without a token, and who can register agents. */
export function InstallationSettings({ isReadingOpen, registration }: InstallationSettingsProps) {
  const t = useTranslations('tiers.settings')
  return (
    <FactList
      facts={[
        [
          t('reading'),
          <div key="reading" className="grid max-w-prose justify-items-start gap-2">
            <p>{isReadingOpen ? t('readingOn', { reads: tierLimits.anonymous.reads }) : t('readingOff')}</p>
            <ReadingSwitch isOn={isReadingOpen} />
          </div>,
        ],
        [
          t('registration'),
          <div key="registration" className="grid max-w-prose gap-1">
            <p>{t(registration)}</p>
            <p className="text-sm text-quiet">{t('environment')}</p>
          </div>,
        ],
      ]}
    />
  )
}
