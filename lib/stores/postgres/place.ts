import { paths } from './cluster.ts'
import { homeOf } from './server-account.ts'

/** Whether the URL leads to the embedded database of that data folder, and to no server that the operator gave. */
export const isEmbedded = (url: string | undefined, dataDir: string): boolean =>
  url === undefined || new URL(url).searchParams.get('host') === paths(homeOf(dataDir)).run
