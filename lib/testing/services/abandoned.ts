// Starts two servers, sends their ports and waits to be killed: for services.int.test.ts.
import { startGcs, startS3 } from './objects.ts'

const [s3, gcs] = [await startS3(), await startGcs()]
process.send?.({ ports: [s3.port, gcs.port], folder: s3.folder })
setInterval(() => {}, 60_000)
