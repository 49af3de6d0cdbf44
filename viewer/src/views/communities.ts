// The communities of a run and where its agents stand: the same in every view that shows people as a map.
import { useMemo } from "react";
import { useAnswer, type Head, type Network, type Wrong } from "../api";
import { louvain, places, type Places } from "./places";

const NOT_THERE = -128;

export interface Communities {
  network: Network | null;
  ends: Uint16Array | null;
  placed: Places | null;
  wrong: Wrong | null;
}

// Discs stand in order of the mean stance on a proposition at the start.
export function useCommunities(head: Head, proposition: string, wanted = true): Communities {
  const network = useAnswer<Network>(wanted ? "/api/network" : "", { run: head.id }, head.agents);
  const follows = useAnswer<ArrayBuffer>(wanted ? "/api/follows" : "", { run: head.id }, head.agents, "bytes");
  const start = useAnswer<ArrayBuffer>(wanted ? "/api/stances" : "", { run: head.id, proposition, step: 0 }, 0, "bytes");
  const ends = useMemo(() => (follows.data ? new Uint16Array(follows.data) : null), [follows.data]);
  const communities = useMemo(() => (network.data && ends ? communitiesOf(network.data, ends) : null), [network.data, ends]);
  const placed = useMemo(() => {
    if (!network.data || !ends || !communities || !start.data) return null;
    const first = new Int8Array(start.data);
    const known = Float64Array.from(network.data.agent, (agent) => ((first[agent] ?? NOT_THERE) === NOT_THERE ? Number.NaN : (first[agent] ?? 0) / 127));
    return places(communities, ends, network.data.followers, known);
  }, [network.data, ends, communities, start.data]);
  return { network: network.data, ends, placed, wrong: network.wrong ?? follows.wrong ?? start.wrong };
}

// A short name of each disc: the answer that makes a block, or a number from left to right.
export function namesOf(network: Network, placed: Places): string[] {
  return placed.discs.map((disc, nth) => (disc.apart ? "apart" : network.blocks ? (network.blocks.of[disc.members[0] ?? 0] ?? "no answer") : String(nth + 1)));
}

// Communities that the run recorded, or else those that Louvain's method finds.
function communitiesOf(network: Network, ends: Uint16Array): Int32Array {
  if (!network.blocks) return louvain(network.agent.length, ends);
  const number = new Map<string | null, number>();
  return Int32Array.from(network.blocks.of, (answer) => {
    if (!number.has(answer)) number.set(answer, number.size);
    return number.get(answer) ?? 0;
  });
}

