import { useTranslations } from 'next-intl'
import type en from '#messages/en.ts'

type Texts = ReturnType<typeof useTranslations<'dataNames'>>

/** Names of stored data, and of the stores and services that contain it; without a translation, the technical name. */
export function dataNamesIn(t: Texts) {
  // next-intl nests keys at dots, so dots become underscores.
  const keyOf = <Known extends string>(name: string) => name.replaceAll('.', '_') as Known
  const records = (dataSource: string, otherwise = dataSource): string => {
    const key = `records.${keyOf<keyof typeof en.dataNames.records>(dataSource)}` as const
    return t.has(key) ? t(key) : otherwise
  }
  return {
    /** The records of a data source, or retained records. */
    records,
    /** The records of a data source that an erasure deletes, and what remains of them if they are not deleted entirely. */
    erasedRecords(dataSource: string, otherwise = dataSource): string {
      const note = `notes.${keyOf<keyof typeof en.dataNames.notes>(dataSource)}` as const
      const whole = records(dataSource, otherwise)
      return t.has(note) ? t('noted', { records: whole, note: t(note) }) : whole
    },
    /** A store or a service. */
    place(name: string): string {
      const key = `places.${keyOf<keyof typeof en.dataNames.places>(name)}` as const
      return t.has(key) ? t(key) : name
    },
  }
}

/** The same for a component. Needs the messages `dataNames`. */
export const useDataNames = () => dataNamesIn(useTranslations('dataNames'))
