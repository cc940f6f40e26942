import { sharingFaults, sharingSeeds, countedFaults } from './planted-entries.ts'
const f = sharingFaults(5_550_123, 1500)
console.log('third seed', countedFaults(f), f.slice(0, 4).map((x) => JSON.stringify(x).slice(0, 400)))
console.log('held out', countedFaults(sharingFaults(sharingSeeds.heldOut, 1500)))
