#compdef showthrough

_cyclopts_showthrough() {
  local line state

  _arguments -C \
    '--help[Display this message and exit.]' \
    '-h[Display this message and exit.]' \
    '--version[Display application version.]' \
    '1: :->cmds' \
    '*::arg:->args'

  case $state in
    cmds)
      local -a commands
      commands=(
        'audit:Decide which claims about the records follow from tables of counts.'
        'schema:Infer a schema from data, to be corrected by hand.'
        'demo:Simulate a small county, audit the tables planned for it, and check the proofs.'
        'protect:Withhold, round or merge as little as possible so that nothing forbidden follow…'
        'import:Turn published tables into a release that can be audited.'
        'census:Audit census tables about homes in blocks (2020) or about people (2010, 2020).'
        'simulate:Simulate homes, or people, in census blocks, with realistic national figures.'
        'bounds:Find the smallest and the largest number of records that can match, with proofs.'
        'worlds:Write different datasets that all have the published counts.'
        'recover:Compute suppressed cells where they follow from what is published.'
        'prior:Fit a prior to records\: how likely each record type is before any table is read.'
        'likely:Estimate what tables of counts make likely without proving it.'
        'report:Write a result as one HTML page that works offline.'
        'verify:Check a run again\: files, proofs, datasets, findings, sentences, figures and th…'
        'export:Write proofs in the VIPR format, which independent programs can check.'
        'attack:Reconstruct what noise was meant to hide, and report who is disclosed.'
        'perturb:Add noise to columns of numbers; all other columns stay unchanged.'
        'advise:Find the least noise under which no attack tried discloses more than a given sh…'
        'completion:Print a script that completes commands, options and choices in a shell.'
        'publish:Publish records so that individual sensitive values stay deniable and statistic…'
        'count:Estimate from a publication how many records match, with an interval.'
        'check:Check whether a promise holds, and for which groups of people it is broken.'
        'compare:Compare methods by the errors of their answers to random queries.'
      )
      _describe -t commands 'command' commands
      ;;
    args)
      case $words[1] in
        audit)
          case ${words[CURRENT]} in
            --data=*)
              compset -P '--data='
              _files
              return
              ;;
            --release=*)
              compset -P '--release='
              _files
              return
              ;;
            --counts=*)
              compset -P '--counts='
              _files
              return
              ;;
            --schema=*)
              compset -P '--schema='
              _files
              return
              ;;
            --after=*)
              compset -P '--after='
              _files
              return
              ;;
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
            --ledger=*)
              compset -P '--ledger='
              _files
              return
              ;;
            --claims=*)
              compset -P '--claims='
              compadd -- 'proved' 'all'
              return
              ;;
          esac
          _arguments \
            '1:Microdata, or published counts.:_files' \
            '*--data[Microdata, or published counts.]:data:_files' \
            '*--tables[A table to count, such as \"age*sex\". Repeatable.]:tables' \
            '--totals[Also count the totals of these tables, at all higher levels.]' \
            '*--release[A release.toml that describes tables. Repeatable.]:release:_files' \
            '*--counts[Published counts, instead of DATA, where it is not clear which kind of file it …]:counts:_files' \
            '*--schema[A schema.toml\: attributes, values, rules.]:schema:_files' \
            '*--columns[Columns to include in an inferred schema\: a,b,c.]:columns' \
            '*--by[The column that names the area.]:by' \
            '--records[Every row is a record, even if the file looks like published counts.]' \
            '*--after[A run about tables that are already published. Repeatable.]:after:_files' \
            '*--out[The run folder to write.]:out:_files' \
            '*--ledger[Instead of --out\: a folder of earlier releases, to compare with and to add this…]:ledger:_files' \
            '--json[Print one JSON object instead of text.]' \
            '--quiet[Print nothing; only the exit code gives the result.]' \
            '--verbose[Also print each step and how long it took.]' \
            '--no-limits[Read values and compressed files of any size.]' \
            '--overwrite[Replace what this command wrote before.]' \
            '--report[Write report.html too (the default).]' \
            '--no-report[Write report.html too (the default).]' \
            '*--min-columns[Smallest number of columns in a claim (default\: 1).]:min-columns' \
            '*--max-columns[Largest number of columns in a claim.]:max-columns' \
            '*--multiplicity[Only claims about this many records\: 1, or 1-3.]:multiplicity' \
            '*--effort[Multiply all limits on work by this factor (default\: 1).]:effort' \
            '*--seed[Seed of the random walks (default\: 0).]:seed' \
            "*--claims[Write proved and undecided claims (the default), or all.]:claims:(proved all)" \
            '--findings[Combine claims into findings (the default); with --no-findings, only decide the…]' \
            '--no-findings[Combine claims into findings (the default); with --no-findings, only decide the…]' \
            '--variability[Also find in how many records two datasets with these tables can differ.]' \
            '*--workers[Number of processes (default\: all cores).]:workers' \
            '*--engine[local (the default), or a Spark master (spark\://host\:7077), worthwhile for work…]:engine' \
            '--absent[Also decide which selections no record matches.]' \
            '--gaps[Also decide which counts are impossible.]' \
            '--keep-going[Report areas that cannot be audited, and continue.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        schema)
          case ${words[CURRENT]} in
            --data=*)
              compset -P '--data='
              _files
              return
              ;;
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
          esac
          _arguments \
            '1:Microdata.:_files' \
            '*--data[Microdata.]:data:_files' \
            '*--columns[Only these columns\: a,b,c.]:columns' \
            '*--by[The column that names the area; it is left out.]:by' \
            '--records[Every row is a record, even if the file looks like published counts.]' \
            '*--out[The file to write (default\: print it).]:out:_files' \
            '--overwrite[Replace the file if it exists.]' \
            '--json[Print one JSON object instead of text.]' \
            '--quiet[Print nothing; only the exit code gives the result.]' \
            '--verbose[Also print each step and how long it took.]' \
            '--no-limits[Read values and compressed files of any size.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        demo)
          case ${words[CURRENT]} in
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
          esac
          _arguments \
            '*--out[The run folder to write.]:out:_files' \
            '*--areas[Number of blocks (default\: 40).]:areas' \
            '*--seed[Seed of the simulation (default\: 7).]:seed' \
            '*--workers[Number of processes (default\: all cores).]:workers' \
            '--json[Print one JSON object instead of text.]' \
            '--quiet[Print nothing; only the exit code gives the result.]' \
            '--verbose[Also print each step and how long it took.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        protect)
          case ${words[CURRENT]} in
            --data=*)
              compset -P '--data='
              _files
              return
              ;;
            --release=*)
              compset -P '--release='
              _files
              return
              ;;
            --counts=*)
              compset -P '--counts='
              _files
              return
              ;;
            --schema=*)
              compset -P '--schema='
              _files
              return
              ;;
            --scratch=*)
              compset -P '--scratch='
              _files
              return
              ;;
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
            --policy=*)
              compset -P '--policy='
              _files
              return
              ;;
            --cells=*)
              compset -P '--cells='
              _files
              return
              ;;
            --as=*)
              compset -P '--as='
              compadd -- 'xlsx' 'csv' 'jsonstat' 'sdmx'
              return
              ;;
            --after=*)
              compset -P '--after='
              _files
              return
              ;;
          esac
          _arguments \
            '1:Microdata, or published counts.:_files' \
            '*--data[Microdata, or published counts.]:data:_files' \
            '*--tables[A table to count, such as \"age*sex\". Repeatable.]:tables' \
            '--totals[Also count the totals of these tables, at all higher levels.]' \
            '*--release[A release.toml that describes tables. Repeatable.]:release:_files' \
            '*--counts[Published counts, instead of DATA, where it is not clear which kind of file it …]:counts:_files' \
            '*--schema[A schema.toml\: attributes, values, rules.]:schema:_files' \
            '*--columns[Columns to include in an inferred schema\: a,b,c.]:columns' \
            '*--by[The column that names the area.]:by' \
            '--records[Every row is a record, even if the file looks like published counts.]' \
            '--json[Print one JSON object instead of text.]' \
            '--quiet[Print nothing; only the exit code gives the result.]' \
            '--verbose[Also print each step and how long it took.]' \
            '--no-limits[Read values and compressed files of any size.]' \
            '--overwrite[Replace what this command wrote before.]' \
            '--report[Write report.html too (the default).]' \
            '--no-report[Write report.html too (the default).]' \
            '*--engine[local (the default), or a Spark master (spark\://host\:7077), worthwhile for work…]:engine' \
            '*--scratch[The folder for private temporary files (default\: SHOWTHROUGH_SCRATCH, or the sy…]:scratch:_files' \
            '*--out[The folder to write the safe release to.]:out:_files' \
            '*--policy[A policy.toml.]:policy:_files' \
            '*--forbid[Forbidden claims\: \"singletons,k>=5\" (those that meet all conditions). Also mult…]:forbid' \
            '*--cells[A file of cells to hide, keep, waive or withhold\: columns table, cell, order, a…]:cells:_files' \
            '*--flags[A column of the counts file that flags cells to hide (1) or keep (z).]:flags' \
            '--keep-zeros[Leave cells of 0 unchanged.]' \
            '*--moves[Moves\: suppress,round\:5,controlled\:5,merge,drop (default\: suppress,drop).]:moves' \
            '--same[Use the same moves in all areas.]' \
            '*--seconds[Stop improving each plan after this many seconds. The result then depends on th…]:seconds' \
            '*--gap[Stop once a plan costs at most this much more than the lower bound\: 5%.]:gap' \
            "*--as[Also write the safe tables in the formats in which offices publish\: xlsx, csv, …]:as:(xlsx csv jsonstat sdmx)" \
            '--compare[Also apply classical rules, and show what still follows.]' \
            '*--workers[Number of processes (default\: all cores).]:workers' \
            '*--effort[Multiply all limits on work by this factor (default\: 1).]:effort' \
            '*--seed[Seed of the random walks (default\: 0).]:seed' \
            '*--after[A run about tables that are already published. Repeatable.]:after:_files' \
            '*--area[Only this area.]:area' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        import)
          case ${words[CURRENT]} in
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
          esac
          _arguments \
            '*:Tables of counts\: Excel, CSV, JSON-stat, SDMX-CSV, Parquet, ACRO.:_files' \
            '*--out[The folder to write.]:out:_files' \
            '*--area[The column that names the area, or none. Repeatable.]:area' \
            '*--total[A label that stands for a total. Repeatable.]:total' \
            '*--mark[What a mark means\: \"c=1-4\", \"-=0\" or \"x=unknown\". Repeatable.]:mark' \
            '*--count[The column that holds the counts.]:count' \
            '*--drop[A column to leave out; only its total is used. Repeatable.]:drop' \
            '*--only[Categories to import\: \"unit=persons,year=2024\". Repeatable.]:only' \
            '*--sheet[A sheet or table to import. Repeatable.]:sheet' \
            '*--rest[A column whose total includes records in none of its categories. Repeatable.]:rest' \
            '*--same[A column whose categories are mutually exclusive across all tables. Repeatable.]:same' \
            '--complete[Assume that categories leave nobody out and that all tables count the same reco…]' \
            '*--rounding[How counts are rounded\: 5, 5\:conventional or 3\:random; 1 if they are not rounde…]:rounding' \
            '*--missing[The count of combinations that a table does not list\: 0 (default\: not published…]:missing' \
            '*--thousands[The thousands separator, such as \".\".]:thousands' \
            '*--record[What is counted, in the singular\: \"home\".]:record' \
            '--json[Print one JSON object instead of text.]' \
            '--quiet[Print nothing; only the exit code gives the result.]' \
            '--verbose[Also print each step and how long it took.]' \
            '--no-limits[Read values and compressed files of any size.]' \
            '--overwrite[Replace what this command wrote before.]' \
            '--report[Write report.html too (the default).]' \
            '--no-report[Write report.html too (the default).]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        census)
          _arguments -C \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]' \
            '1: :->cmds' \
            '*::arg:->args'

          case $state in
            cmds)
              local -a commands
              commands=(
                'tables:List the tables published for every block, or the cells of one.'
                'audit:Decide which claims about homes, or people, follow from the tables.'
                'write-counts:Count the cells that would be published, one row per block.'
                'protect:Withhold as little of the block tables as possible so that nothing forbidden fo…'
                'summary:Show how many homes the claims cover, and how surprising that is, beside the pa…'
                'prior:Fit a prior to homes or people of other blocks, for census likely.'
                'likely:Estimate what census tables about homes, or people, make likely without proving…'
              )
              _describe -t commands 'command' commands
              ;;
            args)
              case $words[1] in
                tables)
                  case ${words[CURRENT]} in
                    --cells=*)
                      compset -P '--cells='
                      compadd -- 'all' 'bottom' '621'
                      return
                      ;;
                    --renter=*)
                      compset -P '--renter='
                      compadd -- 'published' 'paper'
                      return
                      ;;
                    --year=*)
                      compset -P '--year='
                      compadd -- '2010' '2020'
                      return
                      ;;
                    --place=*)
                      compset -P '--place='
                      compadd -- 'block' 'tract' 'both'
                      return
                      ;;
                    --ages=*)
                      compset -P '--ages='
                      compadd -- 'bins' 'years'
                      return
                      ;;
                  esac
                  _arguments \
                    '1:A table whose cells to list\: P16.' \
                    '*--table[A table whose cells to list\: P16.]:table' \
                    "*--cells[All cells (the default), those without parts, or the paper's 621.]:cells:(all bottom 621)" \
                    "*--renter[Count homes occupied without rent as rented (published, the default), or not (p…]:renter:(published paper)" \
                    '--children[Add the column children, which table H15 is about. Published counts need it.]' \
                    '--edits[Add rules that hold only because the Census Bureau edits its files.]' \
                    '--people[Tables about people instead of homes.]' \
                    "*--year[With --people\: the tables of 2010 (the default) or of 2020.]:year:(2010 2020)" \
                    "*--place[With --people\: tables for blocks, with 38 ages (the default); for tracts, with …]:place:(block tract both)" \
                    "*--ages[With --place both\: 38 ages (bins, the default), or 103 (years).]:ages:(bins years)" \
                    '--json[Print one JSON object instead of text.]' \
                    '--quiet[Print nothing; only the exit code gives the result.]' \
                    '--verbose[Also print each step and how long it took.]' \
                    '--help[Display this message and exit.]' \
                    '-h[Display this message and exit.]' \
                    '--version[Display application version.]'

                  ;;
                audit)
                  case ${words[CURRENT]} in
                    --homes=*)
                      compset -P '--homes='
                      _files
                      return
                      ;;
                    --counts=*)
                      compset -P '--counts='
                      _files
                      return
                      ;;
                    --cells=*)
                      compset -P '--cells='
                      compadd -- 'all' 'bottom' '621'
                      return
                      ;;
                    --renter=*)
                      compset -P '--renter='
                      compadd -- 'published' 'paper'
                      return
                      ;;
                    --year=*)
                      compset -P '--year='
                      compadd -- '2010' '2020'
                      return
                      ;;
                    --place=*)
                      compset -P '--place='
                      compadd -- 'block' 'tract' 'both'
                      return
                      ;;
                    --ages=*)
                      compset -P '--ages='
                      compadd -- 'bins' 'years'
                      return
                      ;;
                    --out=*)
                      compset -P '--out='
                      _files
                      return
                      ;;
                    --claims=*)
                      compset -P '--claims='
                      compadd -- 'proved' 'all'
                      return
                      ;;
                  esac
                  _arguments \
                    '1:Microdata\: one row per home, or with --people per person.:_files' \
                    '*--homes[Microdata\: one row per home, or with --people per person.]:homes:_files' \
                    '*--counts[Published counts instead of homes\: from the API (.json), from data.census.gov (…]:counts:_files' \
                    "*--cells[All cells (the default), those without parts, or the paper's 621.]:cells:(all bottom 621)" \
                    "*--renter[Count homes occupied without rent as rented (published, the default), or not (p…]:renter:(published paper)" \
                    '--children[Add the column children, which table H15 is about. Published counts need it.]' \
                    '--edits[Add rules that hold only because the Census Bureau edits its files.]' \
                    '--people[Tables about people instead of homes.]' \
                    "*--year[With --people\: the tables of 2010 (the default) or of 2020.]:year:(2010 2020)" \
                    "*--place[With --people\: tables for blocks, with 38 ages (the default); for tracts, with …]:place:(block tract both)" \
                    "*--ages[With --place both\: 38 ages (bins, the default), or 103 (years).]:ages:(bins years)" \
                    '*--by[The column that names the block (default\: block) or the tract (default\: tract).]:by' \
                    '*--out[The run folder to write.]:out:_files' \
                    '--json[Print one JSON object instead of text.]' \
                    '--quiet[Print nothing; only the exit code gives the result.]' \
                    '--verbose[Also print each step and how long it took.]' \
                    '--no-limits[Read values and compressed files of any size.]' \
                    '--overwrite[Replace what this command wrote before.]' \
                    '--report[Write report.html too (the default).]' \
                    '--no-report[Write report.html too (the default).]' \
                    '*--min-columns[Smallest number of columns in a claim (default\: 1).]:min-columns' \
                    '*--max-columns[Largest number of columns in a claim.]:max-columns' \
                    '*--multiplicity[Only claims about this many records\: 1, or 1-3.]:multiplicity' \
                    '*--effort[Multiply all limits on work by this factor (default\: 1).]:effort' \
                    '*--seed[Seed of the random walks (default\: 0).]:seed' \
                    "*--claims[Write proved and undecided claims (the default), or all.]:claims:(proved all)" \
                    '--findings[Combine claims into findings (the default); with --no-findings, only decide the…]' \
                    '--no-findings[Combine claims into findings (the default); with --no-findings, only decide the…]' \
                    '--variability[Also find in how many records two datasets with these tables can differ.]' \
                    '*--workers[Number of processes (default\: all cores).]:workers' \
                    '*--engine[local (the default), or a Spark master (spark\://host\:7077), worthwhile for work…]:engine' \
                    '--keep-going[Report blocks that cannot be audited, and continue (the default).]' \
                    '--no-keep-going[Report blocks that cannot be audited, and continue (the default).]' \
                    '--help[Display this message and exit.]' \
                    '-h[Display this message and exit.]' \
                    '--version[Display application version.]'

                  ;;
                write-counts)
                  case ${words[CURRENT]} in
                    --homes=*)
                      compset -P '--homes='
                      _files
                      return
                      ;;
                    --cells=*)
                      compset -P '--cells='
                      compadd -- 'all' 'bottom' '621'
                      return
                      ;;
                    --renter=*)
                      compset -P '--renter='
                      compadd -- 'published' 'paper'
                      return
                      ;;
                    --year=*)
                      compset -P '--year='
                      compadd -- '2010' '2020'
                      return
                      ;;
                    --place=*)
                      compset -P '--place='
                      compadd -- 'block' 'tract' 'both'
                      return
                      ;;
                    --ages=*)
                      compset -P '--ages='
                      compadd -- 'bins' 'years'
                      return
                      ;;
                    --out=*)
                      compset -P '--out='
                      _files
                      return
                      ;;
                  esac
                  _arguments \
                    '1:Microdata\: one row per home, or with --people per person.:_files' \
                    '*--homes[Microdata\: one row per home, or with --people per person.]:homes:_files' \
                    "*--cells[All cells (the default), those without parts, or the paper's 621.]:cells:(all bottom 621)" \
                    "*--renter[Count homes occupied without rent as rented (published, the default), or not (p…]:renter:(published paper)" \
                    '--children[Add the column children, which table H15 is about. Published counts need it.]' \
                    '--edits[Add rules that hold only because the Census Bureau edits its files.]' \
                    '--people[Tables about people instead of homes.]' \
                    "*--year[With --people\: the tables of 2010 (the default) or of 2020.]:year:(2010 2020)" \
                    "*--place[With --people\: tables for blocks, with 38 ages (the default); for tracts, with …]:place:(block tract both)" \
                    "*--ages[With --place both\: 38 ages (bins, the default), or 103 (years).]:ages:(bins years)" \
                    '*--by[The column that names the block (default\: block) or the tract (default\: tract).]:by' \
                    '*--out[The .parquet or .csv file to write.]:out:_files' \
                    '--overwrite[Replace the file if it exists.]' \
                    '--json[Print one JSON object instead of text.]' \
                    '--quiet[Print nothing; only the exit code gives the result.]' \
                    '--verbose[Also print each step and how long it took.]' \
                    '--no-limits[Read values and compressed files of any size.]' \
                    '--help[Display this message and exit.]' \
                    '-h[Display this message and exit.]' \
                    '--version[Display application version.]'

                  ;;
                protect)
                  case ${words[CURRENT]} in
                    --homes=*)
                      compset -P '--homes='
                      _files
                      return
                      ;;
                    --counts=*)
                      compset -P '--counts='
                      _files
                      return
                      ;;
                    --cells=*)
                      compset -P '--cells='
                      compadd -- 'all' 'bottom' '621'
                      return
                      ;;
                    --renter=*)
                      compset -P '--renter='
                      compadd -- 'published' 'paper'
                      return
                      ;;
                    --year=*)
                      compset -P '--year='
                      compadd -- '2010' '2020'
                      return
                      ;;
                    --place=*)
                      compset -P '--place='
                      compadd -- 'block' 'tract' 'both'
                      return
                      ;;
                    --ages=*)
                      compset -P '--ages='
                      compadd -- 'bins' 'years'
                      return
                      ;;
                    --scratch=*)
                      compset -P '--scratch='
                      _files
                      return
                      ;;
                    --out=*)
                      compset -P '--out='
                      _files
                      return
                      ;;
                    --policy=*)
                      compset -P '--policy='
                      _files
                      return
                      ;;
                    --cells=*)
                      compset -P '--cells='
                      _files
                      return
                      ;;
                    --as=*)
                      compset -P '--as='
                      compadd -- 'xlsx' 'csv' 'jsonstat' 'sdmx'
                      return
                      ;;
                  esac
                  _arguments \
                    '1:Microdata\: one row per home, or with --people per person.:_files' \
                    '*--homes[Microdata\: one row per home, or with --people per person.]:homes:_files' \
                    '*--counts[Published counts instead of homes\: from the API (.json), from data.census.gov (…]:counts:_files' \
                    "*--cells[All cells (the default), those without parts, or the paper's 621.]:cells:(all bottom 621)" \
                    "*--renter[Count homes occupied without rent as rented (published, the default), or not (p…]:renter:(published paper)" \
                    '--children[Add the column children, which table H15 is about. Published counts need it.]' \
                    '--edits[Add rules that hold only because the Census Bureau edits its files.]' \
                    '--people[Tables about people instead of homes.]' \
                    "*--year[With --people\: the tables of 2010 (the default) or of 2020.]:year:(2010 2020)" \
                    "*--place[With --people\: tables for blocks, with 38 ages (the default); for tracts, with …]:place:(block tract both)" \
                    "*--ages[With --place both\: 38 ages (bins, the default), or 103 (years).]:ages:(bins years)" \
                    '*--by[The column that names the block (default\: block) or the tract (default\: tract).]:by' \
                    '*--area[Only this block.]:area' \
                    '--json[Print one JSON object instead of text.]' \
                    '--quiet[Print nothing; only the exit code gives the result.]' \
                    '--verbose[Also print each step and how long it took.]' \
                    '--no-limits[Read values and compressed files of any size.]' \
                    '--overwrite[Replace what this command wrote before.]' \
                    '--report[Write report.html too (the default).]' \
                    '--no-report[Write report.html too (the default).]' \
                    '*--engine[local (the default), or a Spark master (spark\://host\:7077), worthwhile for work…]:engine' \
                    '*--scratch[The folder for private temporary files (default\: SHOWTHROUGH_SCRATCH, or the sy…]:scratch:_files' \
                    '*--out[The folder to write the safe release to.]:out:_files' \
                    '*--policy[A policy.toml.]:policy:_files' \
                    '*--forbid[Forbidden claims\: \"singletons,k>=5\" (those that meet all conditions). Also mult…]:forbid' \
                    '*--cells[A file of cells to hide, keep, waive or withhold\: columns table, cell, order, a…]:cells:_files' \
                    '*--flags[A column of the counts file that flags cells to hide (1) or keep (z).]:flags' \
                    '--keep-zeros[Leave cells of 0 unchanged.]' \
                    '*--moves[Moves\: suppress,round\:5,controlled\:5,merge,drop (default\: suppress,drop).]:moves' \
                    '--same[Use the same moves in all areas.]' \
                    '*--seconds[Stop improving each plan after this many seconds. The result then depends on th…]:seconds' \
                    '*--gap[Stop once a plan costs at most this much more than the lower bound\: 5%.]:gap' \
                    "*--as[Also write the safe tables in the formats in which offices publish\: xlsx, csv, …]:as:(xlsx csv jsonstat sdmx)" \
                    '--compare[Also apply classical rules, and show what still follows.]' \
                    '*--workers[Number of processes (default\: all cores).]:workers' \
                    '*--effort[Multiply all limits on work by this factor (default\: 1).]:effort' \
                    '*--seed[Seed of the random walks (default\: 0).]:seed' \
                    '--help[Display this message and exit.]' \
                    '-h[Display this message and exit.]' \
                    '--version[Display application version.]'

                  ;;
                summary)
                  case ${words[CURRENT]} in
                    --run=*)
                      compset -P '--run='
                      _files
                      return
                      ;;
                    --homes=*)
                      compset -P '--homes='
                      _files
                      return
                      ;;
                    --out=*)
                      compset -P '--out='
                      _files
                      return
                      ;;
                    --scratch=*)
                      compset -P '--scratch='
                      _files
                      return
                      ;;
                  esac
                  _arguments \
                    '1:A run folder.:_files' \
                    '*--run[A run folder.]:run:_files' \
                    '*--homes[The homes audited, with all blocks of their tracts.]:homes:_files' \
                    '*--by[The column that names the block (default\: block) or the tract (default\: tract).]:by' \
                    '*--out[A .json file to write as well.]:out:_files' \
                    '--overwrite[Replace the file if it exists.]' \
                    '*--engine[local (the default), or a Spark master (spark\://host\:7077), worthwhile for work…]:engine' \
                    '*--scratch[The folder for private temporary files (default\: SHOWTHROUGH_SCRATCH, or the sy…]:scratch:_files' \
                    '--json[Print one JSON object instead of text.]' \
                    '--quiet[Print nothing; only the exit code gives the result.]' \
                    '--verbose[Also print each step and how long it took.]' \
                    '--no-limits[Read values and compressed files of any size.]' \
                    '--help[Display this message and exit.]' \
                    '-h[Display this message and exit.]' \
                    '--version[Display application version.]'

                  ;;
                prior)
                  case ${words[CURRENT]} in
                    --homes=*)
                      compset -P '--homes='
                      _files
                      return
                      ;;
                    --cells=*)
                      compset -P '--cells='
                      compadd -- 'all' 'bottom' '621'
                      return
                      ;;
                    --renter=*)
                      compset -P '--renter='
                      compadd -- 'published' 'paper'
                      return
                      ;;
                    --year=*)
                      compset -P '--year='
                      compadd -- '2010' '2020'
                      return
                      ;;
                    --place=*)
                      compset -P '--place='
                      compadd -- 'block' 'tract' 'both'
                      return
                      ;;
                    --ages=*)
                      compset -P '--ages='
                      compadd -- 'bins' 'years'
                      return
                      ;;
                    --out=*)
                      compset -P '--out='
                      _files
                      return
                      ;;
                    --model=*)
                      compset -P '--model='
                      compadd -- 'bayes-nets' 'latent-classes' 'independent' 'uniform'
                      return
                      ;;
                  esac
                  _arguments \
                    '1:Microdata\: one row per home, or with --people per person.:_files' \
                    '*--homes[Microdata\: one row per home, or with --people per person.]:homes:_files' \
                    "*--cells[All cells (the default), those without parts, or the paper's 621.]:cells:(all bottom 621)" \
                    "*--renter[Count homes occupied without rent as rented (published, the default), or not (p…]:renter:(published paper)" \
                    '--children[Add the column children, which table H15 is about. Published counts need it.]' \
                    '--edits[Add rules that hold only because the Census Bureau edits its files.]' \
                    '--people[Tables about people instead of homes.]' \
                    "*--year[With --people\: the tables of 2010 (the default) or of 2020.]:year:(2010 2020)" \
                    "*--place[With --people\: tables for blocks, with 38 ages (the default); for tracts, with …]:place:(block tract both)" \
                    "*--ages[With --place both\: 38 ages (bins, the default), or 103 (years).]:ages:(bins years)" \
                    '*--by[The column that names the block (default\: block) or the tract (default\: tract).]:by' \
                    '*--out[The .json file to write.]:out:_files' \
                    '--json[Print one JSON object instead of text.]' \
                    '--quiet[Print nothing; only the exit code gives the result.]' \
                    '--verbose[Also print each step and how long it took.]' \
                    '--no-limits[Read values and compressed files of any size.]' \
                    "*--model[The kind of model to fit (default\: bayes-nets).]:model:(bayes-nets latent-classes independent uniform)" \
                    '*--name[The name of the prior (default\: the name of the file).]:name' \
                    '*--seed[Seed of the random walks (default\: 0).]:seed' \
                    '--overwrite[Replace the file if it exists.]' \
                    '--help[Display this message and exit.]' \
                    '-h[Display this message and exit.]' \
                    '--version[Display application version.]'

                  ;;
                likely)
                  case ${words[CURRENT]} in
                    --homes=*)
                      compset -P '--homes='
                      _files
                      return
                      ;;
                    --counts=*)
                      compset -P '--counts='
                      _files
                      return
                      ;;
                    --cells=*)
                      compset -P '--cells='
                      compadd -- 'all' 'bottom' '621'
                      return
                      ;;
                    --renter=*)
                      compset -P '--renter='
                      compadd -- 'published' 'paper'
                      return
                      ;;
                    --year=*)
                      compset -P '--year='
                      compadd -- '2010' '2020'
                      return
                      ;;
                    --place=*)
                      compset -P '--place='
                      compadd -- 'block' 'tract' 'both'
                      return
                      ;;
                    --ages=*)
                      compset -P '--ages='
                      compadd -- 'bins' 'years'
                      return
                      ;;
                    --out=*)
                      compset -P '--out='
                      _files
                      return
                      ;;
                    --prior=*)
                      compset -P '--prior='
                      _files
                      return
                      ;;
                    --calibrate=*)
                      compset -P '--calibrate='
                      _files
                      return
                      ;;
                  esac
                  _arguments \
                    '1:Microdata\: one row per home, or with --people per person.:_files' \
                    '*--homes[Microdata\: one row per home, or with --people per person.]:homes:_files' \
                    '*--counts[Published counts instead of homes\: from the API (.json), from data.census.gov (…]:counts:_files' \
                    "*--cells[All cells (the default), those without parts, or the paper's 621.]:cells:(all bottom 621)" \
                    "*--renter[Count homes occupied without rent as rented (published, the default), or not (p…]:renter:(published paper)" \
                    '--children[Add the column children, which table H15 is about. Published counts need it.]' \
                    '--edits[Add rules that hold only because the Census Bureau edits its files.]' \
                    '--people[Tables about people instead of homes.]' \
                    "*--year[With --people\: the tables of 2010 (the default) or of 2020.]:year:(2010 2020)" \
                    "*--place[With --people\: tables for blocks, with 38 ages (the default); for tracts, with …]:place:(block tract both)" \
                    "*--ages[With --place both\: 38 ages (bins, the default), or 103 (years).]:ages:(bins years)" \
                    '*--by[The column that names the block (default\: block) or the tract (default\: tract).]:by' \
                    '*--out[The folder to write.]:out:_files' \
                    '--json[Print one JSON object instead of text.]' \
                    '--quiet[Print nothing; only the exit code gives the result.]' \
                    '--verbose[Also print each step and how long it took.]' \
                    '--no-limits[Read values and compressed files of any size.]' \
                    '--overwrite[Replace what this command wrote before.]' \
                    '--report[Write report.html too (the default).]' \
                    '--no-report[Write report.html too (the default).]' \
                    '*--prior[The prior, as written by showthrough prior.]:prior:_files' \
                    '*--calibrate[Records of other areas, to measure how often such statements are true.]:calibrate:_files' \
                    '*--calibrate-by[The column of these records that names the area (default\: as --by).]:calibrate-by' \
                    '*--area[Only this area.]:area' \
                    '*--least[Smallest probability to write (default\: 0.8).]:least' \
                    '*--max-columns[Largest number of columns in a statement (default\: 3).]:max-columns' \
                    '*--effort[Multiply all limits on work by this factor (default\: 1).]:effort' \
                    '*--seed[Seed of the random walks (default\: 0).]:seed' \
                    '*--workers[Number of processes (default\: all cores).]:workers' \
                    '--help[Display this message and exit.]' \
                    '-h[Display this message and exit.]' \
                    '--version[Display application version.]'

                  ;;
              esac
              ;;
          esac
          ;;
        simulate)
          case ${words[CURRENT]} in
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
          esac
          _arguments \
            '*--blocks[Number of blocks.]:blocks' \
            '*--seed[Seed of the simulation.]:seed' \
            '*--out[The .parquet file to write.]:out:_files' \
            '--children[Add the eleventh column, children.]' \
            '--people[Simulate people in households instead of homes.]' \
            '--overwrite[Replace the file if it exists.]' \
            '--json[Print one JSON object instead of text.]' \
            '--quiet[Print nothing; only the exit code gives the result.]' \
            '--verbose[Also print each step and how long it took.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        bounds)
          case ${words[CURRENT]} in
            --data=*)
              compset -P '--data='
              _files
              return
              ;;
            --release=*)
              compset -P '--release='
              _files
              return
              ;;
            --counts=*)
              compset -P '--counts='
              _files
              return
              ;;
            --schema=*)
              compset -P '--schema='
              _files
              return
              ;;
          esac
          _arguments \
            '1:A run folder, release.toml, microdata or counts.:_files' \
            '*--data[A run folder, release.toml, microdata or counts.]:data:_files' \
            '*--where[Which records\: \"age=25-34,tenure=rented|owned\".]:where' \
            '*--tables[A table to count, such as \"age*sex\". Repeatable.]:tables' \
            '--totals[Also count the totals of these tables, at all higher levels.]' \
            '*--release[A release.toml that describes tables. Repeatable.]:release:_files' \
            '*--counts[Published counts, instead of DATA, where it is not clear which kind of file it …]:counts:_files' \
            '*--schema[A schema.toml\: attributes, values, rules.]:schema:_files' \
            '*--columns[Columns to include in an inferred schema\: a,b,c.]:columns' \
            '*--by[The column that names the area.]:by' \
            '--records[Every row is a record, even if the file looks like published counts.]' \
            '*--area[Only this area.]:area' \
            '*--effort[Multiply all limits on work by this factor (default\: 1).]:effort' \
            '*--seed[Seed of the random walks (default\: 0).]:seed' \
            '--json[Print one JSON object instead of text.]' \
            '--quiet[Print nothing; only the exit code gives the result.]' \
            '--verbose[Also print each step and how long it took.]' \
            '--no-limits[Read values and compressed files of any size.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        worlds)
          case ${words[CURRENT]} in
            --data=*)
              compset -P '--data='
              _files
              return
              ;;
            --release=*)
              compset -P '--release='
              _files
              return
              ;;
            --counts=*)
              compset -P '--counts='
              _files
              return
              ;;
            --schema=*)
              compset -P '--schema='
              _files
              return
              ;;
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
          esac
          _arguments \
            '1:A run folder, release.toml, microdata or counts.:_files' \
            '*--data[A run folder, release.toml, microdata or counts.]:data:_files' \
            '*--tables[A table to count, such as \"age*sex\". Repeatable.]:tables' \
            '--totals[Also count the totals of these tables, at all higher levels.]' \
            '*--release[A release.toml that describes tables. Repeatable.]:release:_files' \
            '*--counts[Published counts, instead of DATA, where it is not clear which kind of file it …]:counts:_files' \
            '*--schema[A schema.toml\: attributes, values, rules.]:schema:_files' \
            '*--columns[Columns to include in an inferred schema\: a,b,c.]:columns' \
            '*--by[The column that names the area.]:by' \
            '--records[Every row is a record, even if the file looks like published counts.]' \
            '*--out[The .parquet or .csv file to write.]:out:_files' \
            '*--n[Datasets for each area (default\: 100).]:n' \
            '*--area[Only this area.]:area' \
            '*--effort[Multiply all limits on work by this factor (default\: 1).]:effort' \
            '*--seed[Seed of the random walks (default\: 0).]:seed' \
            '--overwrite[Replace the file if it exists.]' \
            '--json[Print one JSON object instead of text.]' \
            '--quiet[Print nothing; only the exit code gives the result.]' \
            '--verbose[Also print each step and how long it took.]' \
            '--no-limits[Read values and compressed files of any size.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        recover)
          case ${words[CURRENT]} in
            --data=*)
              compset -P '--data='
              _files
              return
              ;;
            --release=*)
              compset -P '--release='
              _files
              return
              ;;
            --counts=*)
              compset -P '--counts='
              _files
              return
              ;;
            --schema=*)
              compset -P '--schema='
              _files
              return
              ;;
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
          esac
          _arguments \
            '1:A run folder, release.toml, or published tables.:_files' \
            '*--data[A run folder, release.toml, or published tables.]:data:_files' \
            '*--tables[A table to count, such as \"age*sex\". Repeatable.]:tables' \
            '--totals[Also count the totals of these tables, at all higher levels.]' \
            '*--release[A release.toml that describes tables. Repeatable.]:release:_files' \
            '*--counts[Published counts, instead of DATA, where it is not clear which kind of file it …]:counts:_files' \
            '*--schema[A schema.toml\: attributes, values, rules.]:schema:_files' \
            '*--columns[Columns to include in an inferred schema\: a,b,c.]:columns' \
            '*--by[The column that names the area.]:by' \
            '--records[Every row is a record, even if the file looks like published counts.]' \
            '*--area[Only this area.]:area' \
            '*--out[The page to write\: each table with what was recovered.]:out:_files' \
            '*--effort[Multiply all limits on work by this factor (default\: 1).]:effort' \
            '*--seed[Seed of the random walks (default\: 0).]:seed' \
            '--overwrite[Replace the file if it exists.]' \
            '--json[Print one JSON object instead of text.]' \
            '--quiet[Print nothing; only the exit code gives the result.]' \
            '--verbose[Also print each step and how long it took.]' \
            '--no-limits[Read values and compressed files of any size.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        prior)
          case ${words[CURRENT]} in
            --data=*)
              compset -P '--data='
              _files
              return
              ;;
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
            --schema=*)
              compset -P '--schema='
              _files
              return
              ;;
            --model=*)
              compset -P '--model='
              compadd -- 'bayes-nets' 'latent-classes' 'independent' 'uniform'
              return
              ;;
          esac
          _arguments \
            '1:Records.:_files' \
            '*--data[Records.]:data:_files' \
            '*--out[The .json file to write.]:out:_files' \
            '*--schema[A schema.toml\: attributes, values, rules.]:schema:_files' \
            '*--columns[Only these columns\: a,b,c.]:columns' \
            '*--by[The column that names the area; it is left out.]:by' \
            '--json[Print one JSON object instead of text.]' \
            '--quiet[Print nothing; only the exit code gives the result.]' \
            '--verbose[Also print each step and how long it took.]' \
            '--no-limits[Read values and compressed files of any size.]' \
            "*--model[The kind of model to fit (default\: bayes-nets).]:model:(bayes-nets latent-classes independent uniform)" \
            '*--name[The name of the prior (default\: the name of the file).]:name' \
            '*--seed[Seed of the random walks (default\: 0).]:seed' \
            '--overwrite[Replace the file if it exists.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        likely)
          case ${words[CURRENT]} in
            --data=*)
              compset -P '--data='
              _files
              return
              ;;
            --release=*)
              compset -P '--release='
              _files
              return
              ;;
            --counts=*)
              compset -P '--counts='
              _files
              return
              ;;
            --schema=*)
              compset -P '--schema='
              _files
              return
              ;;
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
            --prior=*)
              compset -P '--prior='
              _files
              return
              ;;
            --calibrate=*)
              compset -P '--calibrate='
              _files
              return
              ;;
          esac
          _arguments \
            '1:A run folder, release.toml, microdata or counts.:_files' \
            '*--data[A run folder, release.toml, microdata or counts.]:data:_files' \
            '*--tables[A table to count, such as \"age*sex\". Repeatable.]:tables' \
            '--totals[Also count the totals of these tables, at all higher levels.]' \
            '*--release[A release.toml that describes tables. Repeatable.]:release:_files' \
            '*--counts[Published counts, instead of DATA, where it is not clear which kind of file it …]:counts:_files' \
            '*--schema[A schema.toml\: attributes, values, rules.]:schema:_files' \
            '*--columns[Columns to include in an inferred schema\: a,b,c.]:columns' \
            '*--by[The column that names the area.]:by' \
            '--records[Every row is a record, even if the file looks like published counts.]' \
            '*--out[The folder to write.]:out:_files' \
            '--json[Print one JSON object instead of text.]' \
            '--quiet[Print nothing; only the exit code gives the result.]' \
            '--verbose[Also print each step and how long it took.]' \
            '--no-limits[Read values and compressed files of any size.]' \
            '--overwrite[Replace what this command wrote before.]' \
            '--report[Write report.html too (the default).]' \
            '--no-report[Write report.html too (the default).]' \
            '*--prior[The prior, as written by showthrough prior.]:prior:_files' \
            '*--calibrate[Records of other areas, to measure how often such statements are true.]:calibrate:_files' \
            '*--calibrate-by[The column of these records that names the area (default\: as --by).]:calibrate-by' \
            '*--area[Only this area.]:area' \
            '*--least[Smallest probability to write (default\: 0.8).]:least' \
            '*--max-columns[Largest number of columns in a statement (default\: 3).]:max-columns' \
            '*--effort[Multiply all limits on work by this factor (default\: 1).]:effort' \
            '*--seed[Seed of the random walks (default\: 0).]:seed' \
            '*--workers[Number of processes (default\: all cores).]:workers' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        report)
          case ${words[CURRENT]} in
            --run=*)
              compset -P '--run='
              _files
              return
              ;;
            --html=*)
              compset -P '--html='
              _files
              return
              ;;
            --homes=*)
              compset -P '--homes='
              _files
              return
              ;;
          esac
          _arguments \
            '1:The folder that a command wrote.:_files' \
            '*--run[The folder that a command wrote.]:run:_files' \
            '*--html[The file to write (default\: report.html in the folder; with --area, a file name…]:html:_files' \
            '*--homes[For census blocks\: the homes of their tracts and states, to show how surprising…]:homes:_files' \
            '*--by[The column of homes that names the block.]:by' \
            '*--area[Write a page about this area of an audit alone, with all its proofs.]:area' \
            '--overwrite[Replace the file if it exists.]' \
            '--json[Print one JSON object instead of text.]' \
            '--quiet[Print nothing; only the exit code gives the result.]' \
            '--verbose[Also print each step and how long it took.]' \
            '--no-limits[Read values and compressed files of any size.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        verify)
          case ${words[CURRENT]} in
            --run=*)
              compset -P '--run='
              _files
              return
              ;;
            --input=*)
              compset -P '--input='
              _files
              return
              ;;
            --scratch=*)
              compset -P '--scratch='
              _files
              return
              ;;
          esac
          _arguments \
            '1:A run folder, or a ledger.:_files' \
            '*--run[A run folder, or a ledger.]:run:_files' \
            '*--input[A file that the run read, to compare with its hash. Repeatable.]:input:_files' \
            '--no-page[Do not make the page again to compare it.]' \
            '*--workers[Number of processes (default\: all cores).]:workers' \
            '*--engine[local (the default), or a Spark master (spark\://host\:7077), worthwhile for work…]:engine' \
            '*--scratch[The folder for private temporary files (default\: SHOWTHROUGH_SCRATCH, or the sy…]:scratch:_files' \
            '--json[Print one JSON object instead of text.]' \
            '--quiet[Print nothing; only the exit code gives the result.]' \
            '--verbose[Also print each step and how long it took.]' \
            '--no-limits[Read values and compressed files of any size.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        export)
          case ${words[CURRENT]} in
            --run=*)
              compset -P '--run='
              _files
              return
              ;;
            --vipr=*)
              compset -P '--vipr='
              _files
              return
              ;;
          esac
          _arguments \
            '1:A run folder.:_files' \
            '*--run[A run folder.]:run:_files' \
            '*--vipr[The folder to write certificates to.]:vipr:_files' \
            '*--area[Only this area. Repeatable.]:area' \
            '--all[Proofs of all verified claims, not only of those behind findings.]' \
            '--overwrite[Replace what this command wrote before.]' \
            '*--workers[Number of processes (default\: all cores).]:workers' \
            '--json[Print one JSON object instead of text.]' \
            '--quiet[Print nothing; only the exit code gives the result.]' \
            '--verbose[Also print each step and how long it took.]' \
            '--no-limits[Read values and compressed files of any size.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        attack)
          case ${words[CURRENT]} in
            --data=*)
              compset -P '--data='
              _files
              return
              ;;
            --covariance=*)
              compset -P '--covariance='
              _files
              return
              ;;
            --truth=*)
              compset -P '--truth='
              _files
              return
              ;;
            --method=*)
              compset -P '--method='
              compadd -- 'as' 'em' 'sf' 'pca' 'be' 'all'
              return
              ;;
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
          esac
          _arguments \
            '1:Noisy numbers, or people.:_files' \
            '*--data[Noisy numbers, or people.]:data:_files' \
            '*--column[A column of numbers. Repeatable.]:column' \
            '*--noise[The noise\: uniform\:125, gaussian\:sd=8, gaussian\:variance=8 or laplace\:20; once,…]:noise' \
            '*--covariance[A file with the covariance of correlated noise.]:covariance:_files' \
            '*--truth[The true values\: same columns, same order of rows.]:truth:_files' \
            '*--true-step[For unknown noise\: true values are multiples of this, such as 1.]:true-step' \
            '*--true-atom[For unknown noise\: a value and the smallest share of people who have it\: 0\:0.3.]:true-atom' \
            '*--true-components[For unknown noise\: the largest number of directions in which the true values va…]:true-components' \
            "*--method[Only these attacks (default\: all that apply). Repeatable.]:method:(as em sf pca be all)" \
            '*--confidence[The attacker'\''s confidence (default\: 0.95).]:confidence' \
            '*--privacy[Privacy intervals as percentages of each value (default\: 35 to 80).]:privacy' \
            '*--absolute[Privacy intervals as half-widths\: 10,20.]:absolute' \
            '*--floor[The smallest half-width of --privacy, for values near 0.]:floor' \
            '*--privacy-columns[Columns of --truth with each person'\''s interval\: low,high.]:privacy-columns' \
            '*--answers[True counts\: the size of a group, and how many have the sensitive value\: 501\:42…]:answers' \
            '*--laplace[The scale of Laplace noise.]:laplace' \
            '*--gaussian[The standard deviation of Gaussian noise.]:gaussian' \
            '*--epsilon[Instead of these, the ε of differential privacy.]:epsilon' \
            '*--delta[Its δ\: the noise is then Gaussian.]:delta' \
            '*--sensitivity[How much one person changes both counts (default\: 2, √2 with δ).]:sensitivity' \
            '*--public[Public columns\: a,b,c (default\: all others).]:public' \
            '*--sensitive[The sensitive column.]:sensitive' \
            '*--out[The folder to write.]:out:_files' \
            '--json[Print one JSON object instead of text.]' \
            '--quiet[Print nothing; only the exit code gives the result.]' \
            '--verbose[Also print each step and how long it took.]' \
            '--no-limits[Read values and compressed files of any size.]' \
            '--overwrite[Replace what this command wrote before.]' \
            '--report[Write report.html too (the default).]' \
            '--no-report[Write report.html too (the default).]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        perturb)
          case ${words[CURRENT]} in
            --data=*)
              compset -P '--data='
              _files
              return
              ;;
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
            --covariance-out=*)
              compset -P '--covariance-out='
              _files
              return
              ;;
          esac
          _arguments \
            '1:A table\: CSV, TSV or Parquet.:_files' \
            '*--data[A table\: CSV, TSV or Parquet.]:data:_files' \
            '*--column[A column of numbers. Repeatable.]:column' \
            '*--noise[The noise\: uniform\:125, gaussian\:sd=8, gaussian\:variance=8 or laplace\:20; once,…]:noise' \
            '*--correlated[Instead of --noise\: Gaussian noise with this multiple of the data'\''s covariance.]:correlated' \
            '*--out[The .csv, .tsv or .parquet file to write.]:out:_files' \
            '*--covariance-out[A file for the covariance of correlated noise.]:covariance-out:_files' \
            '*--seed[Seed of the noise (default\: drawn and discarded).]:seed' \
            '--overwrite[Replace the file if it exists.]' \
            '--json[Print one JSON object instead of text.]' \
            '--quiet[Print nothing; only the exit code gives the result.]' \
            '--verbose[Also print each step and how long it took.]' \
            '--no-limits[Read values and compressed files of any size.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        advise)
          case ${words[CURRENT]} in
            --data=*)
              compset -P '--data='
              _files
              return
              ;;
            --family=*)
              compset -P '--family='
              compadd -- 'uniform' 'gaussian' 'laplace' 'correlated'
              return
              ;;
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
          esac
          _arguments \
            '1:The true values.:_files' \
            '*--data[The true values.]:data:_files' \
            '*--column[A column of numbers. Repeatable.]:column' \
            '*--share[The largest share of people that may be disclosed\: 0.05.]:share' \
            '*--privacy[Privacy interval as a percentage of each value\: 50.]:privacy' \
            '*--absolute[Privacy interval as a half-width instead.]:absolute' \
            '*--floor[The smallest half-width of --privacy, for values near 0.]:floor' \
            "*--family[The kind of noise (default\: uniform); correlated is for several columns.]:family:(uniform gaussian laplace correlated)" \
            '*--confidence[The attacker'\''s confidence (default\: 0.95).]:confidence' \
            '*--draws[Draws of the noise for each scale tried (default\: 3).]:draws' \
            '*--confirmations[Fresh draws that must all keep within the limit in the end (default\: 72).]:confirmations' \
            '*--seed[Seed of the simulation (default\: 0).]:seed' \
            '*--out[The folder to write.]:out:_files' \
            '--json[Print one JSON object instead of text.]' \
            '--quiet[Print nothing; only the exit code gives the result.]' \
            '--verbose[Also print each step and how long it took.]' \
            '--no-limits[Read values and compressed files of any size.]' \
            '--overwrite[Replace what this command wrote before.]' \
            '--report[Write report.html too (the default).]' \
            '--no-report[Write report.html too (the default).]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        completion)
          case ${words[CURRENT]} in
            --shell=*)
              compset -P '--shell='
              compadd -- 'bash' 'zsh' 'fish'
              return
              ;;
          esac
          _arguments \
            "1:Your shell.:(bash zsh fish)" \
            "*--shell[Your shell.]:shell:(bash zsh fish)" \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        publish)
          case ${words[CURRENT]} in
            --data=*)
              compset -P '--data='
              _files
              return
              ;;
            --method=*)
              compset -P '--method='
              compadd -- 'uniform' 'partitioned' 'ordinal' 'product' 'sampled' 'anatomy'
              return
              ;;
            --trials=*)
              compset -P '--trials='
              compadd -- 'independent' 'banded' 'printed'
              return
              ;;
            --bound=*)
              compset -P '--bound='
              compadd -- 'exact' 'chernoff'
              return
              ;;
            --merge=*)
              compset -P '--merge='
              compadd -- 'conditional' 'components' 'none'
              return
              ;;
            --given=*)
              compset -P '--given='
              compadd -- 'public'
              return
              ;;
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
            --format=*)
              compset -P '--format='
              compadd -- 'parquet' 'csv'
              return
              ;;
            --scratch=*)
              compset -P '--scratch='
              _files
              return
              ;;
          esac
          _arguments \
            '1:A CSV, TSV or Parquet file, a folder of these, or a pattern.:_files' \
            '*--data[A CSV, TSV or Parquet file, a folder of these, or a pattern.]:data:_files' \
            '*--sensitive[The sensitive column. Repeatable\: several count as one compound value.]:sensitive' \
            '*--public[The public columns\: a,b,c (default\: all that are not sensitive). Repeatable. A …]:public' \
            '*--drop[Columns to leave out\: a,b,c. Repeatable.]:drop' \
            '*--bin[Put the numbers of a public or sensitive column into bins\: age=10 (a width), ag…]:bin' \
            '--records[Every row is a record, even if the file looks like published counts.]' \
            '*--order[For the method ordinal\: the sensitive values in ascending order, such as none,s…]:order' \
            '*--rho[PRIOR\:POSTERIOR, such as 0.1\:0.5\: no reader becomes surer than POSTERIOR of a v…]:rho' \
            '*--reconstruction[ERROR\:CHANCE, such as 0.3\:0.3\: a frequency estimated from all records with the …]:reconstruction' \
            '--known-totals[With --rho\: make the promise even to a reader who knows how many records have e…]' \
            '*--sets[With --rho\: also protect sets of values\: 2 for all pairs, 3 for sets of up to t…]:sets' \
            '*--diversity[L\: no sensitive value has more than 1/L of a bucket.]:diversity' \
            '*--retention[The probability that a sensitive value is kept as it is; for sampled, its upper…]:retention' \
            "*--method[The method (default\: follows from the promise).]:method:(uniform partitioned ordinal product sampled anatomy)" \
            "*--trials[How many records sampled draws from a group\: as many as keep the promise at eve…]:trials:(independent banded printed)" \
            "*--bound[How banded and printed trials are limited\: by exact tails (the default), or by …]:bound:(exact chernoff)" \
            "*--merge[With --reconstruction\: merge public values between which a test finds no differ…]:merge:(conditional components none)" \
            "*--given[public\: keep --rho for values that are rare in the whole table, for readers who…]:given:(public)" \
            '*--seed[Makes the result repeatable. Keep it as secret as the records\: a seed that some…]:seed' \
            '*--out[The folder to write.]:out:_files' \
            "*--format[How rows are written (default\: parquet).]:format:(parquet csv)" \
            '*--engine[local (the default), or a Spark master (spark\://host\:7077), worthwhile for work…]:engine' \
            '*--scratch[The folder for private temporary files (default\: SHOWTHROUGH_SCRATCH, or the sy…]:scratch:_files' \
            '--json[Print one JSON object instead of text.]' \
            '--quiet[Print nothing; only the exit code gives the result.]' \
            '--verbose[Also print each step and how long it took.]' \
            '--no-limits[Read values and compressed files of any size.]' \
            '--overwrite[Replace what this command wrote before.]' \
            '--report[Write report.html too (the default).]' \
            '--no-report[Write report.html too (the default).]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        count)
          case ${words[CURRENT]} in
            --folder=*)
              compset -P '--folder='
              _files
              return
              ;;
            --scratch=*)
              compset -P '--scratch='
              _files
              return
              ;;
          esac
          _arguments \
            '1:The folder of a publication.:_files' \
            '*--folder[The folder of a publication.]:folder:_files' \
            '*--where[Which records\: \"age=20-29,disease=flu|cold\" (default\: all).]:where' \
            '*--by[Count separately for each value of these columns\: a,b.]:by' \
            '*--weight[A public column of weights\: each record counts this many times.]:weight' \
            '--mean[Estimate the mean of the sensitive column instead of a number of records.]' \
            '--consistent[Give estimates that are never negative and add up; the default is unbiased esti…]' \
            '*--level[The confidence level of the interval (default\: 0.95); an anatomy has bounds ins…]:level' \
            '*--engine[local (the default), or a Spark master (spark\://host\:7077), worthwhile for work…]:engine' \
            '*--scratch[The folder for private temporary files (default\: SHOWTHROUGH_SCRATCH, or the sy…]:scratch:_files' \
            '--json[Print one JSON object instead of text.]' \
            '--quiet[Print nothing; only the exit code gives the result.]' \
            '--verbose[Also print each step and how long it took.]' \
            '--no-limits[Read values and compressed files of any size.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        check)
          case ${words[CURRENT]} in
            --merge=*)
              compset -P '--merge='
              compadd -- 'conditional' 'components' 'none'
              return
              ;;
            --truth=*)
              compset -P '--truth='
              _files
              return
              ;;
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
            --scratch=*)
              compset -P '--scratch='
              _files
              return
              ;;
          esac
          _arguments \
            '1:Records, as for publish, or the folder of a publication.:_files' \
            '2:Another publication of the same people, to check what both give away together (…:_files' \
            '*--sensitive[The sensitive column. Repeatable\: several count as one compound value.]:sensitive' \
            '*--public[The public columns\: a,b,c (default\: all that are not sensitive). Repeatable. A …]:public' \
            '*--drop[Columns to leave out\: a,b,c. Repeatable.]:drop' \
            '*--bin[Put the numbers of a public or sensitive column into bins\: age=10 (a width), ag…]:bin' \
            '--records[Every row is a record, even if the file looks like published counts.]' \
            '*--order[For the method ordinal\: the sensitive values in ascending order, such as none,s…]:order' \
            '*--rho[PRIOR\:POSTERIOR, such as 0.1\:0.5\: no reader becomes surer than POSTERIOR of a v…]:rho' \
            '*--reconstruction[ERROR\:CHANCE, such as 0.3\:0.3\: a frequency estimated from all records with the …]:reconstruction' \
            '--known-totals[With --rho\: make the promise even to a reader who knows how many records have e…]' \
            '*--sets[With --rho\: also protect sets of values\: 2 for all pairs, 3 for sets of up to t…]:sets' \
            '*--diversity[L\: no sensitive value has more than 1/L of a bucket.]:diversity' \
            '*--retention[The probability that a sensitive value is kept as it is; for sampled, its upper…]:retention' \
            "*--merge[With --reconstruction\: merge public values between which a test finds no differ…]:merge:(conditional components none)" \
            '*--truth[The records that the publication was made from\: --rho is then checked exactly.]:truth:_files' \
            '*--weight[A public column of weights\: with --rho, each record counts this many times.]:weight' \
            '*--worst[How many of the worst groups to show (default\: 10).]:worst' \
            '*--out[A folder for all numbers, group by group, and a page.]:out:_files' \
            '*--engine[local (the default), or a Spark master (spark\://host\:7077), worthwhile for work…]:engine' \
            '*--scratch[The folder for private temporary files (default\: SHOWTHROUGH_SCRATCH, or the sy…]:scratch:_files' \
            '--json[Print one JSON object instead of text.]' \
            '--quiet[Print nothing; only the exit code gives the result.]' \
            '--verbose[Also print each step and how long it took.]' \
            '--no-limits[Read values and compressed files of any size.]' \
            '--overwrite[Replace what this command wrote before.]' \
            '--report[Write report.html too (the default).]' \
            '--no-report[Write report.html too (the default).]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        compare)
          case ${words[CURRENT]} in
            --data=*)
              compset -P '--data='
              _files
              return
              ;;
            --trials=*)
              compset -P '--trials='
              compadd -- 'independent' 'banded' 'printed'
              return
              ;;
            --bound=*)
              compset -P '--bound='
              compadd -- 'exact' 'chernoff'
              return
              ;;
            --merge=*)
              compset -P '--merge='
              compadd -- 'conditional' 'components' 'none'
              return
              ;;
            --given=*)
              compset -P '--given='
              compadd -- 'public'
              return
              ;;
            --pool=*)
              compset -P '--pool='
              compadd -- 'crossed' 'single'
              return
              ;;
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
            --scratch=*)
              compset -P '--scratch='
              _files
              return
              ;;
          esac
          _arguments \
            '1:A CSV, TSV or Parquet file, a folder of these, or a pattern.:_files' \
            '*--data[A CSV, TSV or Parquet file, a folder of these, or a pattern.]:data:_files' \
            '*--sensitive[The sensitive column. Repeatable\: several count as one compound value.]:sensitive' \
            '*--public[The public columns\: a,b,c (default\: all that are not sensitive). Repeatable. A …]:public' \
            '*--drop[Columns to leave out\: a,b,c. Repeatable.]:drop' \
            '*--bin[Put the numbers of a public or sensitive column into bins\: age=10 (a width), ag…]:bin' \
            '--records[Every row is a record, even if the file looks like published counts.]' \
            '*--order[For the method ordinal\: the sensitive values in ascending order, such as none,s…]:order' \
            '*--rho[PRIOR\:POSTERIOR, such as 0.1\:0.5\: no reader becomes surer than POSTERIOR of a v…]:rho' \
            '*--reconstruction[ERROR\:CHANCE, such as 0.3\:0.3\: a frequency estimated from all records with the …]:reconstruction' \
            '--known-totals[With --rho\: make the promise even to a reader who knows how many records have e…]' \
            '*--sets[With --rho\: also protect sets of values\: 2 for all pairs, 3 for sets of up to t…]:sets' \
            '*--diversity[L\: no sensitive value has more than 1/L of a bucket.]:diversity' \
            '*--retention[The probability that a sensitive value is kept as it is; for sampled, its upper…]:retention' \
            '*--methods[The methods to compare\: uniform,partitioned,ordinal,sampled,anatomy.]:methods' \
            "*--trials[How many records sampled draws from a group\: as many as keep the promise at eve…]:trials:(independent banded printed)" \
            "*--bound[How banded and printed trials are limited\: by exact tails (the default), or by …]:bound:(exact chernoff)" \
            "*--merge[With --reconstruction\: merge public values between which a test finds no differ…]:merge:(conditional components none)" \
            "*--given[public\: keep --rho for values that are rare in the whole table, for readers who…]:given:(public)" \
            '*--sweep[Vary retention, error, chance, prior, posterior or l\: retention=0.1,0.3. Repeat…]:sweep' \
            "*--pool[Conditions with every sensitive value (the default), or single queries.]:pool:(crossed single)" \
            '*--queries[Conditions (default\: 200) or single queries (default\: 5000).]:queries' \
            '*--selectivity[The smallest percentages of the records that queries count (default\: 0.1,0.5,1).]:selectivity' \
            '*--runs[Number of runs (default\: 10).]:runs' \
            '*--seed[Seed of queries and runs (default\: 0).]:seed' \
            '*--out[A folder for the numbers and a page.]:out:_files' \
            '*--engine[local (the default), or a Spark master (spark\://host\:7077), worthwhile for work…]:engine' \
            '*--scratch[The folder for private temporary files (default\: SHOWTHROUGH_SCRATCH, or the sy…]:scratch:_files' \
            '--json[Print one JSON object instead of text.]' \
            '--quiet[Print nothing; only the exit code gives the result.]' \
            '--verbose[Also print each step and how long it took.]' \
            '--no-limits[Read values and compressed files of any size.]' \
            '--overwrite[Replace what this command wrote before.]' \
            '--report[Write report.html too (the default).]' \
            '--no-report[Write report.html too (the default).]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
      esac
      ;;
  esac
}
