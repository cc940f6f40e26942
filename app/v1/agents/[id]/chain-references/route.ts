import { app, route } from '#lib/app.ts'

export const GET = route(app.agents.listChainReferences)
export const POST = route(app.agents.addChainReference)
