import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.agents.listChainReferences)
export const POST = route(app.agents.addChainReference)
